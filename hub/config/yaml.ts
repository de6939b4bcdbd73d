import { isAlias, isMap, isNode, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import type { Document as YamlDocument } from 'yaml';
import type { SyntaxFault, SyntaxNode, Read } from './source-map.ts';
import type { Outline, OutlineEntry } from './outline.ts';

/** Far more than any real file needs. Bounds YAML aliases that contain each other. */
const maxValues = 20_000;
const maxDepth = 64;

/** Parses YAML and resolves aliases. Reports only the first syntax error or warning. */
export function readYaml(text: string): Read {
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
    const offset = offsetOf(node) ?? around;
    if (isSeq(node))
      return {
        kind: 'list',
        offset,
        items: node.items.map(item => convert(item, offset, depth + 1)),
      };
    if (!isMap(node)) return { kind: 'scalar', offset, value: isScalar(node) ? node.value : null };
    const entries = node.items.map(({ key, value }) => {
      const keyOffset = offsetOf(key) ?? offset;
      const name = keyName(key, yaml);
      return { key: name, offset: keyOffset, value: convert(value, keyOffset, depth + 1) };
    });
    return { kind: 'map', offset, entries };
  };
  const root = yaml.contents === null ? undefined : convert(yaml.contents, 0, 0);
  return { root, fault };
}

function offsetOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}

function keyName(key: unknown, yaml: YamlDocument): string {
  const node = isAlias(key) ? key.resolve(yaml) : key;
  return isScalar(node) ? String(node.value) : JSON.stringify(node);
}

/** Offsets of the keys and values in a valid text; undefined if its root is not an object. */
export function outlineYaml(text: string): Outline | undefined {
  return outlineOf(parseDocument(text, { uniqueKeys: false }).contents);
}

function outlineOf(node: unknown): Outline | undefined {
  if (!isMap(node) || !node.range) return undefined;
  const [start, end] = node.range;
  const entries = node.items.flatMap(({ key, value }): readonly OutlineEntry[] => {
    const keyRange = isNode(key) ? key.range : undefined;
    if (!isScalar(key) || !keyRange) return [];
    const [valueStart, valueEnd] = (isNode(value) && value.range) || [keyRange[1], keyRange[1]];
    return [
      {
        key: String(key.value),
        start: keyRange[0],
        keyEnd: keyRange[1],
        valueStart,
        end: Math.max(keyRange[1], valueEnd),
        value: outlineOf(value),
      },
    ];
  });
  return { style: node.flow ? 'braces' : 'block', start, end, entries };
}

/** Formats an object as YAML, without a trailing line break. */
export const writeYaml = (value: object, indent: number): string =>
  stringify(value, { indent, lineWidth: 0 }).trimEnd();
