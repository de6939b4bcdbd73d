import { z } from 'zod';
import { matching, text } from './schema-parts.ts';

const volumeName = matching(
  /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/,
  'the name of a volume has letters, digits, "_", "." and "-", and starts with a letter or digit',
);

const mount = z.strictObject({
  source: text.describe(
    'File or folder on this machine. Relative paths start at the folder of this file; "~" is the home folder.',
  ),
  target: text.describe('Absolute path in the container.'),
  read_only: z.boolean().default(true).describe('false allows the server to write to it.'),
});

const volume = z.strictObject(
  {
    name: volumeName.describe(
      'Name of the volume. It outlives the container, and servers with the same name share it.',
    ),
    target: text.describe('Absolute path in the container.'),
  },
  {
    error: ({ code }) =>
      code === 'invalid_type'
        ? 'write {"name": "/path"} instead of the list, or an object with "name" and "target"'
        : undefined,
  },
);

export const mountInAnyForm = z.union(
  [text, mount],
  'write "source:target", "source:target:rw" or an object',
);
export const volumesInAnyForm = z.union(
  [z.record(volumeName, text), z.array(volume)],
  'write {"name": "/path"} or a list of {"name", "target"}',
);
