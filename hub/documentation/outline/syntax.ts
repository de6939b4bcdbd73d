import type { Node } from '@vscode/tree-sitter-wasm';

/** Returns the named children of a node. */
export const childrenOf = (node: Node | null | undefined): readonly Node[] =>
  node?.namedChildren.filter(child => child !== null) ?? [];
