import { join, resolve } from 'node:path';
import { z } from 'zod';
import { text } from './schema-parts.ts';

const folder = text
  .max(1_000)
  .regex(/^(?:~?\/|[A-Za-z]:[\\/])/, 'must be an absolute path, or begin with "~/"')
  .refine(path => path.split(/[\\/]/).every(part => part !== '..'), 'must not have ".." in it');

export const repositoriesSchema = z.array(folder).max(100);

/** Returns the folders as absolute paths. Links in them are resolved later, when paths are compared. */
export const readRepositories = (
  written: z.output<typeof repositoriesSchema>,
  home: string,
): readonly string[] =>
  written.map(path => resolve(path.startsWith('~/') ? join(home, path.slice(2)) : path));
