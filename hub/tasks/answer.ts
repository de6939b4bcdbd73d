/** A block of the implementer's answer: writes, edits or deletes one file. */
export type AnswerBlock =
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  | { readonly kind: 'edit'; readonly path: string; readonly changes: readonly TextChange[] }
  | { readonly kind: 'delete'; readonly path: string };

export type TextChange = { readonly search: string; readonly replace: string };

type AnswerReading =
  | { readonly blocks: readonly AnswerBlock[] }
  /** Why the answer cannot be used, as a message to the model. */
  | { readonly problem: string };

const maxBlocks = 50;
const maxChanges = 100;
const opening = /^@@@ (FILE|EDIT|DELETE) (.+)$/;
const end = '@@@ END';
const search = '@@@ SEARCH';
const replace = '@@@ REPLACE';

/**
 * Parses the blocks of an answer, in the format that prompts/implementer.txt asks for. Pure. Ignores text outside of
 * blocks, and removes a code fence around the content of a file.
 */
export function readAnswer(answer: string): AnswerReading {
  const lines = answer.replaceAll('\r\n', '\n').split('\n');
  const blocks: AnswerBlock[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = (lines[at] ?? '').trimEnd();
    const [, kind, path = ''] = opening.exec(line) ?? [];
    at++;
    if (kind === undefined) {
      if (line.startsWith('@@@ '))
        return {
          problem: `line ${at}: ${JSON.stringify(line.slice(0, 60))} stands outside of a block`,
        };
      continue;
    }
    const stop = lines.findIndex((text, index) => index >= at && text.trimEnd() === end);
    if (stop < 0) return { problem: `the block of ${path} has no line "${end}"` };
    const read = readBlock(kind, path.trim(), lines.slice(at, stop));
    if ('problem' in read) return read;
    if (blocks.some(block => block.path === read.path))
      return { problem: `${read.path} has two blocks: write one block for each file` };
    blocks.push(read);
    if (blocks.length > maxBlocks) return { problem: `more than ${maxBlocks} blocks` };
    at = stop + 1;
  }
  if (blocks.length === 0)
    return { problem: 'there is no block that begins with "@@@ FILE", "@@@ EDIT" or "@@@ DELETE"' };
  return { blocks };
}

function readBlock(
  kind: string,
  path: string,
  lines: readonly string[],
): AnswerBlock | { readonly problem: string } {
  const marker = lines.find(line => opening.test(line.trimEnd()));
  if (marker !== undefined)
    return {
      problem: `the block of ${path} has no line "${end}" before ${JSON.stringify(marker)}`,
    };
  // Git treats a file with NUL as binary, and its diff would show the reviewer nothing of its content.
  if (lines.some(line => line.includes('\0')))
    return { problem: `the block of ${path} has a NUL character: leave it out` };
  if (kind === 'DELETE') {
    const text = lines.find(line => line.trim() !== '');
    return text === undefined
      ? { kind: 'delete', path }
      : { problem: `the block that deletes ${path} has text: leave it empty` };
  }
  if (kind === 'FILE') {
    const stray = lines.find(line => [search, replace].includes(line.trimEnd()));
    if (stray !== undefined)
      return {
        problem: `the block of ${path} has "${stray.trimEnd()}": begin it with "@@@ EDIT ${path}"`,
      };
    return { kind: 'file', path, text: withoutFence(path, lines) };
  }
  return readChanges(path, lines);
}

function readChanges(
  path: string,
  lines: readonly string[],
): AnswerBlock | { readonly problem: string } {
  const changes: TextChange[] = [];
  let from: string[] | undefined;
  let to: string[] | undefined;
  const close = () => {
    if (from && to) changes.push({ search: from.join('\n'), replace: to.join('\n') });
  };
  for (const line of lines) {
    const text = line.trimEnd();
    if (text === search) {
      if (from && !to) return { problem: `a "${search}" of ${path} has no "${replace}"` };
      close();
      from = [];
      to = undefined;
    } else if (text === replace) {
      if (!from || to) return { problem: `a "${replace}" of ${path} has no "${search}" before it` };
      to = [];
    } else if (to) to.push(line);
    else if (from) from.push(line);
    else if (text !== '')
      return { problem: `the block of ${path} does not begin with "${search}"` };
  }
  if (from && !to) return { problem: `a "${search}" of ${path} has no "${replace}"` };
  close();
  if (changes.length === 0) return { problem: `the block of ${path} has no "${search}"` };
  if (changes.length > maxChanges)
    return { problem: `the block of ${path} has more than ${maxChanges} changes` };
  if (changes.some(change => change.search.trim() === ''))
    return { problem: `a "${search}" of ${path} is empty: copy lines of the file` };
  return { kind: 'edit', path, changes };
}

/** Removes a Markdown fence around the whole file, which small models add. Markdown files keep it. */
function withoutFence(path: string, lines: readonly string[]): string {
  const first = lines.findIndex(line => line.trim() !== '');
  const last = lines.findLastIndex(line => line.trim() !== '');
  const isFenced =
    !/\.mdx?$/i.test(path) &&
    last > first &&
    /^```[\w+-]*$/.test((lines[first] ?? '').trim()) &&
    (lines[last] ?? '').trim() === '```';
  const text = (isFenced ? lines.slice(first + 1, last) : lines).join('\n');
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
