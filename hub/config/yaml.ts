import { isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Document as YamlDocument } from 'yaml';
import type { Fault, Located, Read } from './located.ts';

/** Far above any real file; keeps YAML aliases that contain each other from filling the memory. */
const maxValues = 20_000;
const maxDepth = 64;

/** Reads YAML, with aliases resolved. The first syntax error or warning only. */
export function readYaml(text: string): Read {
  // Keys that stand twice are found below, in one way for both formats.
  const yaml = parseDocument(text, { uniqueKeys: false, prettyErrors: false });
  const [first] = [...yaml.errors, ...yaml.warnings];
  if (first) return { root: undefined, fault: { offset: first.pos[0], text: first.message } };
  let left = maxValues;
  let fault: Fault | undefined;
  const convert = (node: unknown, around: number, depth: number): Located => {
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
