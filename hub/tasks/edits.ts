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
      files.push({ path, content: block.text });
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
  const breaks = before.includes('\r\n') ? '\r\n' : '\n';
  let text = before.replaceAll('\r\n', '\n');
  for (const { search, replace } of changes) {
    const at = text.indexOf(search);
    if (at < 0) return { problem: `${path} has no text ${quoted(search)}: copy it exactly` };
    if (text.indexOf(search, at + 1) >= 0)
      return { problem: `${path} has ${quoted(search)} more than once: copy more lines around it` };
    text = text.slice(0, at) + replace + text.slice(at + search.length);
  }
  return { text: breaks === '\n' ? text : text.replaceAll('\n', breaks) };
}

const maxQuoted = 120;
const quoted = (text: string) =>
  JSON.stringify(text.length > maxQuoted ? `${text.slice(0, maxQuoted)}...` : text);
