import { HubError, decodeText } from '#core';
import { type Git, partsOf, wholeText } from './git.ts';
import type { FileBytes, ReadFile, ReadLimits, TrackedFile } from './file-types.ts';
import type { CommitId } from './repository-types.ts';

const mib = 2 ** 20;
const maxListBytes = 16 * mib;
/** Maximum total size of the files that one command prints, in bytes. */
const batchBytes = 4 * mib;
const usualFileBytes = mib;
const usualReadBytes = 16 * mib;
const maxReadBytes = 64 * mib;
/** Maximum number of paths in one command line. */
const pathsAtOnce = 200;

/** A blob and its path. */
type Blob = { readonly path: string; readonly hash: string; readonly bytes: number };

/** Returns the commit id of a revision. Rejects with HUB_REPOSITORY_UNKNOWN. */
export async function resolveRevision(
  git: Git,
  revision: string,
  signal: AbortSignal,
): Promise<CommitId> {
  const unknown = new HubError(
    'HUB_REPOSITORY_UNKNOWN',
    `there is no commit ${JSON.stringify(revision)}. Name a branch, a tag or the id of a commit`,
  );
  if (!/^[\w][\w./@{}^~+#-]{0,250}$/.test(revision)) throw unknown;
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
  const { code, stdout } = await git(args, { codes: [0, 1, 128] }, signal);
  const id = stdout.toString().trim();
  if (code !== 0 || !isCommitId(id)) throw unknown;
  return id;
}

const isCommitId = (text: string) => /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(text);

/** Returns the id. Throws HUB_REQUEST_INVALID for anything but a commit id, such as an option of git. */
export function requireCommitId(id: CommitId): CommitId {
  if (isCommitId(id)) return id;
  throw new HubError('HUB_REQUEST_INVALID', `${JSON.stringify(id)} is not the id of a commit`);
}

const modes: Readonly<Record<string, TrackedFile['mode']>> = {
  '100644': 'file',
  '100664': 'file',
  '100755': 'executable',
  '120000': 'link',
};

/** Returns the kind of a tree entry by its mode in git. */
export const modeOf = (mode: string): TrackedFile['mode'] | 'submodule' =>
  modes[mode] ?? 'submodule';

/** Returns all files of a commit. */
export async function listFiles(
  git: Git,
  commit: CommitId,
  signal: AbortSignal,
): Promise<readonly TrackedFile[]> {
  const args = ['ls-tree', '-r', '-l', '-z', '--full-tree', requireCommitId(commit)];
  return await treeEntries(git, args, signal);
}

async function treeEntries(git: Git, args: readonly string[], signal: AbortSignal) {
  const output = await git(args, { maxBytes: maxListBytes }, signal);
  return partsOf(wholeText(output, 'the list of files')).flatMap((entry): TrackedFile[] => {
    const tab = entry.indexOf('\t');
    const [mode = '', type, hash = '', bytes = ''] = entry.slice(0, tab).split(/ +/);
    const kind = modes[mode];
    if (type !== 'blob' || kind === undefined || !isInside(entry.slice(tab + 1))) return [];
    return [{ path: entry.slice(tab + 1), mode: kind, bytes: Number(bytes), hash }];
  });
}

/** True for a path within the repository. Trees may have names that git would not add, such as `..`. */
const isInside = (path: string) =>
  path.split('/').every(part => part !== '' && part !== '.' && part !== '..') &&
  !path.includes('\0');

/** Reads files of a commit, in the order of `wanted`. A `TrackedFile` is not looked up again. */
export async function readFiles(
  git: Git,
  commit: CommitId,
  wanted: readonly (string | TrackedFile)[],
  limits: ReadLimits,
  signal: AbortSignal,
): Promise<readonly FileBytes[]> {
  const found = new Map<string, TrackedFile>();
  const paths = wanted.filter(file => typeof file === 'string');
  for (let at = 0; at < paths.length; at += pathsAtOnce) {
    const some = paths.slice(at, at + pathsAtOnce).filter(isInside);
    if (some.length === 0) continue;
    const args = ['ls-tree', '-l', '-z', '--full-tree', requireCommitId(commit), '--', ...some];
    for (const file of await treeEntries(git, args, signal)) found.set(file.path, file);
  }
  return await readBlobBytes(
    git,
    wanted.map(one => {
      const path = typeof one === 'string' ? one : one.path;
      const file = typeof one === 'string' ? found.get(one) : one;
      return file && file.mode !== 'link' ? file : { path, isLink: file !== undefined };
    }),
    limits,
    signal,
  );
}

/** Reads blobs as texts, within the limits. */
export const readBlobs = async (
  ...args: Parameters<typeof readBlobBytes>
): Promise<readonly ReadFile[]> => (await readBlobBytes(...args)).map(decoded);

function decoded(file: FileBytes): ReadFile {
  if (file.kind !== 'bytes') return file;
  const { path, bytes, content } = file;
  const text = decodeText(content);
  return text === undefined ? { path, kind: 'binary', bytes } : { path, kind: 'text', text, bytes };
}

type WantedBlob = Blob | { readonly path: string; readonly isLink: boolean };

async function readBlobBytes(
  git: Git,
  wanted: readonly WantedBlob[],
  { fileBytes = usualFileBytes, maxBytes = usualReadBytes }: ReadLimits,
  signal: AbortSignal,
): Promise<readonly FileBytes[]> {
  const results: FileBytes[] = [];
  let batch: Blob[] = [];
  let inBatch = 0;
  let rest = Math.min(maxBytes, maxReadBytes);
  const largest = Math.min(fileBytes, batchBytes);
  const flush = async () => {
    results.push(...(await printBlobs(git, batch, signal)));
    batch = [];
    inBatch = 0;
  };
  for (const blob of wanted) {
    if ('isLink' in blob || blob.bytes > largest || blob.bytes > rest) {
      await flush();
      const { path } = blob;
      if ('bytes' in blob) results.push({ path, kind: 'omitted', bytes: blob.bytes });
      else
        results.push(blob.isLink ? { path, kind: 'omitted', bytes: 0 } : { path, kind: 'missing' });
      continue;
    }
    if (inBatch + blob.bytes > batchBytes) await flush();
    batch.push(blob);
    inBatch += blob.bytes;
    rest -= blob.bytes;
  }
  await flush();
  return results;
}

async function printBlobs(git: Git, blobs: readonly Blob[], signal: AbortSignal) {
  if (blobs.length === 0) return [];
  const headers = blobs.length * 100;
  const input = blobs.map(({ hash }) => `${hash}\n`).join('');
  const maxBytes = batchBytes + headers;
  const options = { input, objects: blobs.length, maxBytes };
  const { stdout } = await git(['cat-file', '--batch'], options, signal);
  let at = 0;
  return blobs.map(({ path, bytes }): FileBytes => {
    const begin = stdout.indexOf(0x0a, at) + 1;
    const content = stdout.subarray(begin, begin + bytes);
    at = begin + bytes + 1;
    return { path, kind: 'bytes', content, bytes };
  });
}

/** Returns the trailers of a commit's message. */
export async function readTrailers(
  git: Git,
  commit: CommitId,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const args = [
    'log',
    '--no-color',
    '--no-decorate',
    '--no-notes',
    '--no-mailmap',
    '--no-show-signature',
    '--max-count=1',
    '--format=%b',
    requireCommitId(commit),
    '--',
  ];
  const output = await git(args, { maxBytes: maxListBytes }, signal);
  return trailersOf(wholeText(output, 'the message of a commit'));
}

/** Returns the trailers of a message: its last paragraph, if all lines of it have the form `Name: value`. */
function trailersOf(body: string): Readonly<Record<string, string>> {
  const lines =
    body
      .trim()
      .split(/\n\s*\n/)
      .at(-1)
      ?.split('\n') ?? [];
  const found = lines.map(line => /^([A-Za-z][A-Za-z0-9-]*): (.*)$/.exec(line));
  if (found.includes(null)) return {};
  return Object.fromEntries(found.map(match => [match?.[1] ?? '', match?.[2] ?? '']));
}
