import { HubError, decodeText } from '#core';
import { type Git, partsOf, wholeText } from './git.ts';
import { modeOf } from './objects.ts';
import type { ChangedFile, Diff } from './repository-types.ts';

const mib = 2 ** 20;
const maxListBytes = 16 * mib;
const usualDiffBytes = mib;
const maxDiffBytes = 16 * mib;
const maxAddedBytes = 4 * mib;

/** Options that make a diff independent of the git config, and keep it from running programs of the config. */
const plain = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-renames',
  '--no-color',
  '--ignore-submodules=none',
];

/** The two sides of a diff, as arguments of git: `diff-tree A B`, or `diff-index --cached A`. */
type Sides = readonly [command: 'diff-tree' | 'diff-index', ...args: string[]];

const statuses: Readonly<Record<string, ChangedFile['status']>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  T: 'type_changed',
};

/** Returns the files that differ between the two sides. */
export async function changedFiles(
  git: Git,
  [command, ...sides]: Sides,
  signal: AbortSignal,
): Promise<readonly ChangedFile[]> {
  const args = [command, '-r', '--raw', '-z', ...plain, ...sides, '--'];
  const output = await git(args, { maxBytes: maxListBytes }, signal);
  const parts = partsOf(wholeText(output, 'the list of changes'));
  const changes: ChangedFile[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [before = '', after = '', , , letter = ''] = (parts[at] ?? '').slice(1).split(' ');
    const status = statuses[letter[0] ?? ''] ?? 'modified';
    const mode = modeOf(status === 'deleted' ? before : after);
    changes.push({ path: parts[at + 1] ?? '', status, mode });
  }
  return changes;
}

/**
 * Returns the unified diff of the two sides, cut off after `maxBytes` at the end of a line. A text that replaces a binary
 * file is shown.
 */
export async function diffOf(
  git: Git,
  sides: Sides,
  options: { readonly maxBytes?: number },
  signal: AbortSignal,
): Promise<Diff> {
  const maxBytes = Math.min(options.maxBytes ?? usualDiffBytes, maxDiffBytes);
  const output = await unifiedDiff(git, sides, { maxBytes }, signal);
  const diff = Buffer.from(await withNewTexts(git, output.stdout.toString(), maxBytes, signal));
  const isTruncated = output.isTruncated || diff.length > maxBytes;
  const text = diff.subarray(0, maxBytes).toString();
  return { text: isTruncated ? text.slice(0, text.lastIndexOf('\n') + 1) : text, isTruncated };
}

/** Matches a file that git shows only as binary. Captures the new blob and the names before and after. */
const unshown =
  /^index [0-9a-f]+\.\.([0-9a-f]+)(?: \d+)?\nBinary files (a\/.*|\/dev\/null) and (b\/.*) differ\n/gm;

/** Adds the new content of text files to a diff that shows them as binary, as their old content is. */
async function withNewTexts(
  git: Git,
  diff: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  let text = '';
  let at = 0;
  for (const { 0: found, 1: blob = '', 2: before, 3: after, index } of diff.matchAll(unshown)) {
    text += diff.slice(at, index + found.length);
    at = index + found.length;
    if (text.length > maxBytes) break;
    const { stdout, isTruncated } = await git(['cat-file', 'blob', blob], { maxBytes }, signal);
    // A text that is too long is shown as far as it fits, so that the diff counts as truncated.
    const content = isTruncated && !stdout.includes(0) ? stdout.toString() : decodeText(stdout);
    if (content === undefined || content === '') continue;
    const lines = content.replace(/\n$/, '').split('\n');
    const added = lines.map(line => `+${line}\n`).join('');
    text += `--- ${before}\n+++ ${after}\n@@ -0,0 +1,${lines.length} @@\n${added}`;
  }
  return text + diff.slice(at);
}

/** Returns the path in a line of a diff such as `+++ b/src/a.ts`. Git quotes names with special characters. */
export function pathInDiff(line: string): string {
  const name = line.slice('+++ '.length).replace(/\t.*$/, '');
  const path = /^"(.*)"$/.exec(name)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? name;
  return path.replace(/^[ab]\//, '');
}

type Form = { readonly maxBytes: number; readonly more?: readonly string[] };

function unifiedDiff(git: Git, [command, ...sides]: Sides, form: Form, signal: AbortSignal) {
  const { maxBytes, more = [] } = form;
  const look = ['--src-prefix=a/', '--dst-prefix=b/', '--full-index', ...more];
  const args = [command, '-r', '-p', ...plain, ...look, ...sides, '--'];
  return git(args, { maxBytes }, signal);
}

/**
 * Returns the diff without context and deleted files, as text even for binary files: an attribute or a NUL byte cannot
 * hide an added line from a search. Rejects with HUB_REPOSITORY_LIMIT above 4 MiB.
 */
export async function addedLines(git: Git, sides: Sides, signal: AbortSignal): Promise<string> {
  const form = { maxBytes: maxAddedBytes, more: ['--text', '--unified=0', '--diff-filter=d'] };
  const { stdout, isTruncated } = await unifiedDiff(git, sides, form, signal);
  if (!isTruncated) return stdout.toString();
  throw new HubError(
    'HUB_REPOSITORY_LIMIT',
    `the change adds and replaces more than ${maxAddedBytes} bytes, which the hub does not search for secrets. Split the task, or make this change yourself`,
  );
}
