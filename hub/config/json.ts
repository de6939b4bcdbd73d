import { parseTree, printParseErrorCode, stripComments } from 'jsonc-parser';
import type { Node as JsonNode, ParseError } from 'jsonc-parser';
import type { Syntax, SyntaxNode } from './source-map.ts';

/** Parses JSON with comments and trailing commas. Reports only the first syntax error. */
export function readJson(text: string): Syntax {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  // An empty file is reported as empty, not as a syntax error.
  const [first] = tree || stripComments(text).trim() !== '' ? errors : [];
  const code = first && printParseErrorCode(first.error);
  return {
    root: tree && fromJson(tree),
    fault: first && { offset: first.offset, text: jsonFaults.get(code ?? '') ?? String(code) },
  };
}

const jsonFaults = new Map([
  ['InvalidSymbol', 'a word or character that is not JSON; strings need double quotes'],
  ['InvalidNumberFormat', 'a number that is not valid in JSON'],
  ['PropertyNameExpected', 'a key in double quotes is expected here'],
  ['ValueExpected', 'a value is missing here'],
  ['ColonExpected', 'a ":" is missing before this'],
  ['CommaExpected', 'a "," is missing before this'],
  ['CloseBraceExpected', 'a "}" is missing before this'],
  ['CloseBracketExpected', 'a "]" is missing before this'],
  ['EndOfFileExpected', 'the file should end here; remove the rest'],
  ['InvalidCommentToken', 'a comment that is not closed'],
  ['UnexpectedEndOfComment', 'a comment that is not closed'],
  ['UnexpectedEndOfString', 'a string that is not closed on its line'],
  ['UnexpectedEndOfNumber', 'a truncated number'],
  ['InvalidUnicode', '"\\u" needs four hexadecimal digits'],
  [
    'InvalidEscapeCharacter',
    'a backslash before a character that needs none; write "\\\\" for a backslash',
  ],
  ['InvalidCharacter', 'a control character in a string; write it as \\n, \\t or \\u0000'],
]);

function fromJson(node: JsonNode): SyntaxNode {
  const { offset, length, children = [] } = node;
  if (node.type === 'array') return { kind: 'list', offset, items: children.map(fromJson) };
  if (node.type !== 'object') return { kind: 'scalar', offset, value: node.value };
  const entries = children.flatMap(({ children: [key, value] = [] }) =>
    key && value
      ? {
          key: String(key.value),
          offset: key.offset,
          keyEnd: key.offset + key.length,
          valueStart: value.offset,
          end: value.offset + value.length,
          value: fromJson(value),
          isAlias: false,
        }
      : [],
  );
  return { kind: 'map', style: 'braces', offset, end: offset + length, entries };
}
