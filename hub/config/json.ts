import { parseTree, printParseErrorCode, stripComments } from 'jsonc-parser';
import type { Node as JsonNode, ParseError } from 'jsonc-parser';
import type { Path, SourceNode, SourceText, Syntax } from './source-map.ts';

/** Parses JSON with comments and trailing commas. Reports only the first syntax error. */
export function readJson(source: SourceText): Syntax {
  const { text } = source;
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  // An empty file is reported as empty, not as a missing value.
  const isEmpty = !tree && stripComments(text).trim() === '';
  const first = errors.find(
    ({ error }) => !isEmpty || printParseErrorCode(error) !== 'ValueExpected',
  );
  const code = first && printParseErrorCode(first.error);
  return {
    root: tree && fromJson(tree, source, []),
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

function fromJson(node: JsonNode, source: SourceText, path: Path): SourceNode {
  const { offset, length, children = [] } = node;
  const here = { source, offset, path, end: offset + length };
  if (node.type === 'array') {
    const items = children.map((item, index) => fromJson(item, source, [...path, index]));
    return { ...here, kind: 'list', items };
  }
  if (node.type !== 'object') return { ...here, kind: 'scalar', value: node.value };
  const entries = children.flatMap(({ children: [key, value] = [] }) => {
    if (!key || !value) return [];
    const at = [...path, String(key.value)];
    return {
      source,
      offset: key.offset,
      path: at,
      key: String(key.value),
      keyEnd: key.offset + key.length,
      valueStart: value.offset,
      end: value.offset + value.length,
      value: fromJson(value, source, at),
      isAlias: false,
    };
  });
  return { ...here, kind: 'map', style: 'braces', entries };
}
