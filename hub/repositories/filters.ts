import { type Git, partsOf, wholeText } from './git.ts';

const maxBytes = 16 * 2 ** 20;

/** Returns the filters of files, such as `lfs`, by path. Files without a filter are absent. */
export async function filtersOf(
  git: Git,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const input = paths.map(path => `${path}\0`).join('');
  const output = await git(['check-attr', '-z', '--stdin', 'filter'], { input, maxBytes }, signal);
  const parts = partsOf(wholeText(output, 'the list of attributes'));
  const filters = new Map<string, string>();
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [path = '', , filter = ''] = parts.slice(at);
    if (!['unspecified', 'unset', ''].includes(filter)) filters.set(path, filter);
  }
  return filters;
}
