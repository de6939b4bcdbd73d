import { isAlias, isMap, isNode, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import type { Document as YamlDocument } from 'yaml';
import type { Path, SourceNode, SourceText, Syntax, SyntaxFault } from './source-map.ts';

/** Far more than any real file needs. Bounds YAML aliases that contain each other. */
const maxValues = 20_000;
const maxDepth = 64;

/** Parses YAML and resolves aliases. Reports only the first syntax error or warning. */
export function readYaml(source: SourceText): Syntax {
  // Duplicate keys are reported later, in the same way for both formats.
  const yaml = parseDocument(source.text, { uniqueKeys: false, prettyErrors: false });
  const [first] = [...yaml.errors, ...yaml.warnings];
  if (first) return { root: undefined, fault: { offset: first.pos[0], text: first.message } };
  let left = maxValues;
  let fault: SyntaxFault | undefined;
  const convert = (node: unknown, around: number, path: Path, depth: number): SourceNode => {
    left -= 1;
    if (left < 0 || depth > maxDepth) {
      const text = 'it has too many values, or aliases that contain each other';
      fault ??= { offset: around, text };
      return { kind: 'scalar', source, offset: around, path, value: null };
    }
    if (isAlias(node)) return convert(node.resolve(yaml), around, path, depth + 1);
    const [offset, end] = rangeOf(node) ?? [around, around];
    const here = { source, offset, path };
    if (isSeq(node)) {
      const convertItem = (item: unknown, index: number) =>
        convert(item, offset, [...path, index], depth + 1);
      return { ...here, kind: 'list', items: node.items.map(convertItem) };
    }
    if (!isMap(node)) return { ...here, kind: 'scalar', value: isScalar(node) ? node.value : null };
    const entries = node.items.map(({ key: keyNode, value }) => {
      const [keyOffset, keyEnd] = rangeOf(keyNode) ?? [offset, offset];
      const [valueStart, valueEnd] = rangeOf(value) ?? [keyEnd, keyEnd];
      const key = keyName(keyNode, yaml);
      const at = [...path, key];
      return {
        source,
        offset: keyOffset,
        path: at,
        key,
        keyEnd,
        valueStart,
        end: Math.max(keyEnd, valueEnd),
        value: convert(value, keyOffset, at, depth + 1),
        isAlias: isAlias(value),
      };
    });
    return { ...here, kind: 'map', style: node.flow ? 'braces' : 'block', end, entries };
  };
  const root = yaml.contents === null ? undefined : convert(yaml.contents, 0, [], 0);
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
