import type { Node } from '@vscode/tree-sitter-wasm';

const maxSignatureLength = 160;
const bodies = ['body', 'block', 'class_body', 'declaration_list'];

/** Returns a declaration up to its body, on one line. */
export function signatureOf(node: Node): string {
  const value = node.childForFieldName('value');
  const body =
    bodies.map(field => node.childForFieldName(field)).find(found => found !== null) ??
    value?.childForFieldName('body');
  const end = body ? body.startIndex : value && isLong(value) ? value.startIndex : node.endIndex;
  const text = node.text
    .slice(0, end - node.startIndex)
    .replaceAll(/\s+/g, ' ')
    .replace(/(?:=>|[={:])\s*$/, '')
    .replace(/(?:=>|[={:;])\s*$/, '')
    .trim();
  if (text.length <= maxSignatureLength) return text;
  return `${text.slice(0, maxSignatureLength).trimEnd()} ...`;
}

/** True for values that are omitted from a signature. Object types are listed by their members instead. */
const isLong = ({ text, type }: Node) =>
  type === 'object_type' || text.length > 60 || text.includes('\n');
