import { isAlias, isMap, isNode, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import type { Document as YamlDocument } from 'yaml';
import type { Syntax, SyntaxFault, SyntaxNode } from './source-map.ts';

/** Far more than any real file needs. Bounds YAML aliases that contain each other. */
const maxValues = 20_000;
const maxDepth = 64;

/** Parses YAML and resolves aliases. Reports only the first syntax error or warning. */
export function readYaml(text: string): Syntax {
  // Duplicate keys are reported later, in the same way for both formats.
  const yaml = parseDocument(text, { uniqueKeys: false, prettyErrors: false });
  const [first] = [...yaml.errors, ...yaml.warnings];
  if (first) return { root: undefined, fault: { offset: first.pos[0], text: first.message } };
  let left = maxValues;
  let fault: SyntaxFault | undefined;
  const convert = (node: unknown, around: number, depth: number): SyntaxNode => {
    left -= 1;
    if (left < 0 || depth > maxDepth) {
      fault ??= {
        offset: around,
        text: 'it has too many values, or aliases that contain each other',
      };
      return { kind: 'scalar', offset: around, value: null };
    }
    if (isAlias(node)) return convert(node.resolve(yaml), around, depth + 1);
    const [offset, end] = rangeOf(node) ?? [around, around];
    if (isSeq(node))
      return {
        kind: 'list',
        offset,
        items: node.items.map(item => convert(item, offset, depth + 1)),
      };
    if (!isMap(node)) return { kind: 'scalar', offset, value: isScalar(node) ? node.value : null };
    const entries = node.items.map(({ key, value }) => {
      const [keyOffset, keyEnd] = rangeOf(key) ?? [offset, offset];
      const [valueStart, valueEnd] = rangeOf(value) ?? [keyEnd, keyEnd];
      return {
        key: keyName(key, yaml),
        offset: keyOffset,
        keyEnd,
        valueStart,
        end: Math.max(keyEnd, valueEnd),
        value: convert(value, keyOffset, depth + 1),
        isAlias: isAlias(value),
      };
    });
    return { kind: 'map', style: node.flow ? 'braces' : 'block', offset, end, entries };
  };
  const root = yaml.contents === null ? undefined : convert(yaml.contents, 0, 0);
  return { root, fault };
}

const rangeOf = (node: unknown) => (isNode(node) ? (node.range ?? undefined) : undefined);

function keyName(key: unknown, yaml: YamlDocument): string {
  const node = isAlias(key) ? key.resolve(yaml) : key;
  return isScalar(node) ? String(node.value) : JSON.stringify(node);
}

/** Formats an object as YAML, without a trailing line break. */
export const writeYaml = (value: object, indent: number): string =>
  stringify(value, { indent, lineWidth: 0 }).trimEnd();
