import type { Node } from '@vscode/tree-sitter-wasm';
import type { ThreadPace } from '#core';
import { docAbove } from './comments.ts';
import type { OutlineSymbol, SymbolKind } from './outline-types.ts';
import { signatureOf } from './signature.ts';
import { childrenOf } from './syntax.ts';

type Found = { readonly symbols: readonly OutlineSymbol[]; readonly imports: readonly string[] };

const kinds: Readonly<Record<string, SymbolKind>> = {
  abstract_class_declaration: 'class',
  class_declaration: 'class',
  enum_declaration: 'enum',
  function_declaration: 'function',
  function_signature: 'function',
  generator_function_declaration: 'function',
  interface_declaration: 'interface',
  internal_module: 'module',
  lexical_declaration: 'constant',
  type_alias_declaration: 'type',
  variable_declaration: 'constant',
};

const functionValues = new Set(['arrow_function', 'function_expression', 'generator_function']);

/** Reads the exports and imports of JavaScript and TypeScript: ES modules and CommonJS. */
export function outlineEcmascript(root: Node, text: string, pace: ThreadPace): Found {
  const declared = new Map<string, OutlineSymbol>();
  const exports: OutlineSymbol[] = [];
  const imports: string[] = [];

  const statements = childrenOf(root).map(node => {
    pace();
    const symbols = declarationsOf(node);
    for (const symbol of symbols) declared.set(symbol.name, symbol);
    if (node.type === 'import_statement') addImport(node);
    return { node, symbols };
  });
  for (const { node, symbols } of statements) {
    pace();
    if (node.type === 'export_statement') readExport(node, symbols);
    else if (node.type === 'expression_statement') readAssignment(node);
  }
  imports.push(...Array.from(text.matchAll(calls), ([, , specifier = '']) => specifier));
  return { symbols: distinct(exports), imports };

  function addImport(node: Node): void {
    const source = node.childForFieldName('source');
    if (source) imports.push(unquoted(source.text));
  }

  function readExport(node: Node, symbols: readonly OutlineSymbol[]): void {
    exports.push(...symbols);
    if (symbols.length > 0) return;
    addImport(node);
    const declaration = node.childForFieldName('declaration');
    if (declaration) {
      if (/^export\s+default\b/.test(node.text))
        exports.push(named('default', 'default', declaration));
      return;
    }
    const value = node.childForFieldName('value');
    if (value) exports.push(aliased('default', value.text, value));
    const source = node.childForFieldName('source');
    const clause = childrenOf(node).find(({ type }) => type === 'export_clause');
    for (const specifier of childrenOf(clause)) {
      const name = specifier.childForFieldName('name')?.text;
      if (name === undefined) continue;
      const as = specifier.childForFieldName('alias')?.text ?? name;
      if (source)
        exports.push({ ...named(as, 're-export', specifier), signature: `from ${source.text}` });
      else exports.push(aliased(as, name, specifier));
    }
    if (source && !clause)
      exports.push({ ...named('*', 're-export', node), signature: `from ${source.text}` });
  }

  /** Reads CommonJS exports: `module.exports = ...`, `exports.name = ...`. */
  function readAssignment(statement: Node): void {
    let assignment = childrenOf(statement)[0];
    while (assignment?.type === 'assignment_expression') {
      const left = assignment.childForFieldName('left');
      const right: Node | null = assignment.childForFieldName('right');
      const [, member] = /^(?:module\.)?exports(?:\.([\w$]+))?$/.exec(left?.text ?? '') ?? [
        undefined,
      ];
      const isWhole = left?.text === 'module.exports';
      if (!right || (member === undefined && !isWhole)) return;
      const value = lastValue(right);
      if (isWhole && value.type === 'object') readObject(value);
      else
        exports.push(
          aliased(
            member ?? (value.type === 'identifier' ? value.text : 'default'),
            value.text,
            value,
          ),
        );
      assignment = right;
    }
  }

  function readObject(object: Node): void {
    for (const entry of childrenOf(object)) {
      const key = entry.childForFieldName('key') ?? entry.childForFieldName('name');
      const value = entry.childForFieldName('value') ?? entry;
      if (entry.type === 'shorthand_property_identifier')
        exports.push(aliased(entry.text, entry.text, entry));
      else if (key) exports.push(aliased(unquoted(key.text), value.text, entry));
    }
  }

  /** Returns the symbol of an exported name: a declaration of the file, or a value. */
  function aliased(name: string, local: string, at: Node): OutlineSymbol {
    const known = declared.get(local);
    if (known) return { ...known, name };
    return named(name, name === 'default' ? 'default' : 'constant', at);
  }
}

function named(name: string, kind: SymbolKind, node: Node): OutlineSymbol {
  const doc = docAbove(node);
  return {
    name,
    kind,
    signature: signatureOf(node),
    line: node.startPosition.row + 1,
    ...(doc !== undefined && { doc }),
  };
}

/** Returns the symbols that a statement declares. */
function declarationsOf(node: Node): readonly OutlineSymbol[] {
  const inside = node.type === 'export_statement' ? node.childForFieldName('declaration') : node;
  if (inside?.type === 'ambient_declaration') return childrenOf(inside).flatMap(declarationsOf);
  const kind = inside ? kinds[inside.type] : undefined;
  if (!inside || kind === undefined) return [];
  if (inside.type === 'lexical_declaration' || inside.type === 'variable_declaration')
    return childrenOf(inside).flatMap(declarator => {
      const name = declarator.childForFieldName('name');
      if (name?.type !== 'identifier') return [];
      const value = declarator.childForFieldName('value');
      const isFunction = functionValues.has(value?.type ?? '');
      const own = named(name.text, isFunction ? 'function' : kind, declarator);
      const doc = own.doc ?? docAbove(node);
      return [{ ...own, ...(doc !== undefined && { doc }) }];
    });
  const name = inside.childForFieldName('name')?.text;
  if (name === undefined) return [];
  const members = kind === 'class' ? methodsOf(inside) : membersOf(inside);
  const doc = docAbove(node);
  return [
    {
      ...named(name, kind, inside),
      ...(doc !== undefined && { doc }),
      ...(members.length > 0 && { members }),
    },
  ];
}

const maxMembers = 20;

function methodsOf(declaration: Node): readonly string[] {
  const body = declaration.childForFieldName('body');
  return childrenOf(body)
    .filter(({ type }) => type === 'method_definition' || type === 'method_signature')
    .filter(({ text }) => !/^(?:private|protected|#)/.test(text))
    .map(method => method.childForFieldName('name')?.text ?? '')
    .filter(name => name !== '' && name !== 'constructor')
    .slice(0, maxMembers);
}

/** Returns the names of the properties and methods of an interface or object type. */
function membersOf(declaration: Node): readonly string[] {
  const shape = declaration.childForFieldName('body') ?? declaration.childForFieldName('value');
  if (shape?.type !== 'object_type' && shape?.type !== 'interface_body') return [];
  return childrenOf(shape)
    .filter(({ type }) => type === 'property_signature' || type === 'method_signature')
    .map(member => member.childForFieldName('name')?.text ?? '')
    .filter(name => name !== '')
    .slice(0, maxMembers);
}

/** Returns the last value of a chain of assignments, such as `value` in `a = b = value`. */
function lastValue(value: Node): Node {
  const inner = value.type === 'assignment_expression' ? value.childForFieldName('right') : null;
  return inner ? lastValue(inner) : value;
}

/** Matches `require()` and `import()` with their specifiers. */
const calls = /\b(?:require|import)\(\s*(['"])([^'"\n]{1,300})\1\s*\)/g;

const unquoted = (text: string) => text.replace(/^['"`](.*)['"`]$/, '$1');

/** Returns the first symbol of each name. CommonJS often exports a value under several names, also as `default`. */
function distinct(symbols: readonly OutlineSymbol[]): readonly OutlineSymbol[] {
  const seen = new Set<string>();
  const named = new Set(symbols.flatMap(({ name, line }) => (name === 'default' ? [] : [line])));
  return symbols.filter(({ name, line, signature }) => {
    const key = name === '*' ? signature : name;
    if (seen.has(key) || (name === 'default' && named.has(line))) return false;
    seen.add(key);
    return true;
  });
}
