import type { AnswerBlock, TextChange } from './answer.ts';

/** Texts of existing files, by path. */
type FileTexts = ReadonlyMap<string, string>;

type AppliedFile = {
  readonly path: string;
  /** New content; undefined if the file is deleted. */
  readonly content: string | undefined;
};

/** Returns the contents of files after the blocks of an answer, or the problem of a block that does not fit. Pure. */
export function applyBlocks(
  blocks: readonly AnswerBlock[],
  texts: FileTexts,
): { readonly files: readonly AppliedFile[] } | { readonly problem: string } {
  const files: AppliedFile[] = [];
  for (const block of blocks) {
    const { path } = block;
    const text = texts.get(path);
    if (block.kind === 'file') {
      files.push({ path, content: withBreaksOf(text ?? '', block.text) });
      continue;
    }
    if (text === undefined)
      return {
        problem: `${path} does not exist, or is not a text file: ${block.kind === 'delete' ? 'it cannot be deleted' : 'write it with "@@@ FILE"'}`,
      };
    if (block.kind === 'delete') {
      files.push({ path, content: undefined });
      continue;
    }
    const changed = applyChanges(path, text, block.changes);
    if ('problem' in changed) return changed;
    files.push({ path, content: changed.text });
  }
  return { files };
}

function applyChanges(
  path: string,
  before: string,
  changes: readonly TextChange[],
): { readonly text: string } | { readonly problem: string } {
  let text = before;
  for (const { search, replace } of changes) {
    const pattern = patternOf(search);
    const found = pattern.exec(text);
    if (!found) return { problem: `${path} has no text ${quoted(search)}: copy it exactly` };
    pattern.lastIndex = found.index + 1;
    if (pattern.test(text))
      return { problem: `${path} has ${quoted(search)} more than once: copy more lines around it` };
    text = replaced(text, { from: found.index, to: found.index + found[0].length }, replace);
  }
  return { text };
}

/** Matches a text of an answer in a file, whose lines may end with CR LF. */
const patternOf = (search: string) =>
  new RegExp(
    search.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replaceAll('\n', String.raw`\r?\n`),
    'g',
  );

/** Replaces a part of a text. New lines end as those at this place do. Lines that nothing replaces leave no empty line. */
function replaced(
  text: string,
  { from, to }: { readonly from: number; readonly to: number },
  replace: string,
): string {
  const beginning = text.slice(0, from);
  const isLine = beginning === '' || beginning.endsWith('\n');
  const rest = text.slice(to);
  if (replace === '' && isLine) return beginning + rest.replace(/^\r?\n/, '');
  const [breaks = '\n'] = /\r?\n/.exec(text.slice(from)) ?? /\r?\n/.exec(text) ?? [];
  return beginning + replace.replaceAll('\n', breaks) + rest;
}

/** Returns the new text of a file, with CR LF at the ends of its lines if all lines of the old text end so. */
const withBreaksOf = (old: string, text: string): string =>
  old.includes('\n') && !/(?<!\r)\n/.test(old) ? text.replaceAll('\n', '\r\n') : text;

const maxQuoted = 120;
const quoted = (text: string) =>
  JSON.stringify(text.length > maxQuoted ? `${text.slice(0, maxQuoted)}...` : text);
