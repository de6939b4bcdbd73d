import type { Node } from '@vscode/tree-sitter-wasm';
import type { ThreadPace } from '#core';
import { docOfFile } from './comments.ts';
import { outlineEcmascript } from './ecmascript.ts';
import { grammarRules } from './grammar-rules.ts';
import { type GrammarName, languageOf } from './languages.ts';
import type { FileOutline, SourceFileText } from './outline-types.ts';
import { docOfModule, outlineTree } from './outline-tree.ts';

/** Parses a text, and calls `read` with its syntax tree, which is then freed. Undefined if parsing failed. */
export type Parse = <T>(
  grammar: GrammarName,
  text: string,
  read: (root: Node) => T,
) => T | undefined;

const maxSymbols = 200;
const maxImports = 500;

/** Returns the outline of a file. */
export function outlineFile(
  { path, text, bytes, hash }: SourceFileText,
  parse: Parse,
  pace: ThreadPace,
): FileOutline {
  const language = languageOf(path);
  const found =
    language?.grammar === undefined
      ? undefined
      : parse(language.grammar, text, root => read(root, text, language.grammar, pace));
  const symbols = found?.symbols ?? [];
  return {
    path,
    language: language?.name ?? 'Text',
    lines: countLines(text),
    bytes,
    hash,
    ...(found?.doc && { doc: found.doc }),
    symbols: symbols.slice(0, maxSymbols),
    moreSymbols: Math.max(0, symbols.length - maxSymbols),
    imports: (found?.imports ?? []).slice(0, maxImports),
    isParsed: found !== undefined,
  };
}

function read(root: Node, text: string, grammar: GrammarName | undefined, pace: ThreadPace) {
  const rules = grammar && grammarRules[grammar];
  const found = rules ? outlineTree(root, rules, pace) : outlineEcmascript(root, text, pace);
  return {
    ...found,
    doc: (grammar === 'python' ? docOfModule(root) : undefined) ?? docOfFile(root),
  };
}

/** Counts lines like an editor: an empty line after the last line break does not count. */
export function countLines(text: string): number {
  if (text === '') return 0;
  let lines = text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
