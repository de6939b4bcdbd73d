import type { Node } from '@vscode/tree-sitter-wasm';
import type { ThreadPace } from '#core';
import { docAbove, paragraphOf } from './comments.ts';
import type { GrammarRules } from './grammar-rules.ts';
import type { OutlineSymbol } from './outline-types.ts';
import { signatureOf } from './signature.ts';
import { childrenOf } from './syntax.ts';

const maxDepth = 6;
const maxMembers = 20;
const classKinds = new Set(['class', 'interface', 'struct', 'trait', 'module']);

/** Reads the exports and imports of a file by the rules of its grammar. */
export function outlineTree(root: Node, rules: GrammarRules, pace: ThreadPace) {
  const symbols: OutlineSymbol[] = [];
  const imports: string[] = [];
  const visit = (node: Node, depth: number, outer: Node): void => {
    pace();
    readImport(node);
    const kind = rules.declarations[node.type];
    if (kind !== undefined) {
      const name = nameOf(node);
      if (name !== undefined && (rules.isPublic?.(node, name) ?? true))
        symbols.push(symbolOf(node, outer, name, kind));
      return;
    }
    if (depth < maxDepth && (node === root || isContainer(node)))
      for (const child of childrenOf(node))
        visit(child, depth + 1, isWrapper(node) ? outer : child);
  };
  const isContainer = ({ type }: Node) =>
    (rules.containers?.has(type) ?? false) ||
    type === 'import_declaration' ||
    type === 'import_spec_list';
  const isWrapper = ({ type }: Node) =>
    /^(?:decorated_definition|(?:type|const|var)_declaration|template_declaration)$/.test(type);

  function readImport(node: Node): void {
    if (!rules.imports.has(node.type)) return;
    const [, ...groups] = rules.specifier.exec(node.text) ?? [];
    const specifier = groups.find(group => group !== undefined);
    if (specifier !== undefined) imports.push(specifier);
  }

  function symbolOf(
    node: Node,
    outer: Node,
    name: string,
    kind: OutlineSymbol['kind'],
  ): OutlineSymbol {
    const doc = docstringOf(node) ?? docAbove(node) ?? docAbove(outer);
    const members = classKinds.has(kind) ? membersOf(node) : [];
    return {
      name: node.type === 'method_declaration' ? withReceiver(node, name) : name,
      kind,
      signature: signatureOf(node),
      line: node.startPosition.row + 1,
      ...(doc !== undefined && { doc }),
      ...(members.length > 0 && { members }),
    };
  }

  function membersOf(node: Node): readonly string[] {
    const { methods = new Set<string>() } = rules;
    return childrenOf(bodyOf(node))
      .filter(({ type }) => methods.has(type))
      .map(member =>
        member.type === 'decorated_definition' ? member.childForFieldName('definition') : member,
      )
      .flatMap(member => {
        const name = member ? nameOf(member) : undefined;
        if (!member || name === undefined || !(rules.isPublic?.(member, name) ?? true)) return [];
        return [name];
      })
      .slice(0, maxMembers);
  }

  visit(root, 0, root);
  return { symbols, imports };
}

const bodyOf = (node: Node): Node | null =>
  node.childForFieldName('body') ??
  childrenOf(node).find(({ type }) => type === 'body_statement' || type === 'declaration_list') ??
  null;

/** Returns the name of a declaration. In C, the name of a function is inside its declarator. */
function nameOf(node: Node): string | undefined {
  const direct = node.childForFieldName('name');
  if (direct) return direct.text;
  let declarator = node.childForFieldName('declarator');
  for (let depth = 0; declarator && depth < maxDepth; depth++) {
    const inner = declarator.childForFieldName('declarator');
    if (!inner) return /^[\w:~]+$/.test(declarator.text) ? declarator.text : undefined;
    declarator = inner;
  }
  return childrenOf(node).find(({ type }) => type === 'function_name')?.text;
}

/** Prefixes the name of a Go method with its receiver: `(s *Server) Close` becomes `Server.Close`. */
function withReceiver(node: Node, name: string): string {
  const receiver = /([\w]+)(?:\[[^\]]*\])?\s*\)$/.exec(
    node.childForFieldName('receiver')?.text ?? '',
  );
  return receiver ? `${receiver[1]}.${name}` : name;
}

/** Returns the Python docstring at the start of a body; undefined if there is none. */
function docstringOf(node: Node): string | undefined {
  const first = childrenOf(node.childForFieldName('body'))[0];
  const text = childrenOf(first)[0];
  if (first?.type === 'expression_statement' && text?.type === 'string')
    return paragraphOf(plainString(text.text));
  return first?.type === 'string' ? paragraphOf(plainString(first.text)) : undefined;
}

const plainString = (text: string) =>
  text.replace(/^[rbuRBU]*(?:"""|'''|["'])/, '').replace(/(?:"""|'''|["'])$/, '');

/** Returns the docstring of a Python module and its line; undefined if there is none. */
export function docOfModule(root: Node): { text: string; line: number } | undefined {
  const first = childrenOf(root).find(({ type }) => type !== 'comment');
  const string = first?.type === 'expression_statement' ? childrenOf(first)[0] : undefined;
  const text = string?.type === 'string' ? paragraphOf(plainString(string.text)) : undefined;
  return text === undefined || !first ? undefined : { text, line: first.startPosition.row + 1 };
}
