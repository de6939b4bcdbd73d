import { z } from 'zod';
import { matching, text } from './schema-parts.ts';

/** Name of a Debian package (Debian policy 5.6.1). No `-` at the end, which tells apt-get to remove the package. */
export const systemPackageName = matching(
  /^[a-z0-9][a-z0-9+.-]{0,98}[a-z0-9+.]$/,
  'write the name of a Debian package, such as "ffmpeg": lower-case letters, digits, "+", "-" and ".", without a version',
);

/** Maximum number of system packages per entry. */
const maxSystemPackages = 50;

/** Keys of an entry that add to the image of a server besides its package. */
export const needsShape = {
  build: text.min(1).optional(),
  system_packages: z.array(systemPackageName).max(maxSystemPackages).default([]),
};

export const needsDescriptions = {
  build:
    'Folder to build an image of: it holds a Dockerfile, a package.json or a pyproject.toml. A relative path starts at the folder of this file. The server is replaced when the files change.',
  system_packages:
    'Debian packages to install in the image of the server, such as ["git", "ffmpeg"].',
};
