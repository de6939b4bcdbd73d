const blockBytes = 512;
const maxNameBytes = 100;
const maxPrefixBytes = 155;

export type TarFile = {
  /** Path relative to the root of the archive, with `/` between its parts. */
  readonly path: string;
  readonly content: Buffer;
  /** True if the owner may execute the file. Default: false. */
  readonly isExecutable?: boolean;
  /** Target of a symbolic link, which has no content. Absent: a regular file. */
  readonly link?: string | undefined;
};

/** Two blocks of zeros, which mark the end of an archive. */
const tarEnd = Buffer.alloc(2 * blockBytes);

/**
 * Packs files as a tar archive (POSIX.1-1988, ustar). Deterministic. Throws RangeError if a path or link is too long
 * for the format.
 */
export const packFiles = (files: readonly TarFile[]): Buffer =>
  Buffer.concat([...files.map(tarEntry), tarEnd]);

/**
 * Returns one file of an archive, with its header. Throws RangeError for a path or link that is too long for the
 * format.
 */
function tarEntry({ path, content, isExecutable = false, link }: TarFile): Buffer {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  const { name, prefix } = splitPath(path);
  header.write(name, 0, maxNameBytes);
  header.write(octal(isExecutable ? 0o755 : 0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content.length, 11), 124);
  header.write(octal(0, 11), 136);
  header.write('        ', 148);
  header.write(link === undefined ? '0' : '2', 156);
  if (link !== undefined) {
    if (Buffer.byteLength(link) > maxNameBytes)
      throw new RangeError(`the link ${path} is too long`);
    header.write(link, 157, maxNameBytes);
  }
  header.write('ustar\x0000', 257);
  header.write(prefix, 345, maxPrefixBytes);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${octal(sum, 6)} `, 148);
  const padding = (blockBytes - (content.length % blockBytes)) % blockBytes;
  return Buffer.concat([header, content, Buffer.alloc(padding)]);
}

/** Splits a path at a slash, because the tar header has separate fields for the name and for the folders before it. */
function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= maxNameBytes) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(name) <= maxNameBytes && name !== '';
    if (fits && Buffer.byteLength(prefix) <= maxPrefixBytes) return { name, prefix };
  }
  throw new RangeError(`the path ${path} is too long`);
}
