import type { Node } from '@vscode/tree-sitter-wasm';
import type { GrammarName } from './languages.ts';
import type { SymbolKind } from './outline-types.ts';

/** Node types of a tree-sitter grammar for exports and imports. */
export type GrammarRules = {
  /** Node types of declarations, with the kind of symbol. */
  readonly declarations: Readonly<Record<string, SymbolKind>>;
  /** Node types whose children are read, too, such as namespaces. */
  readonly containers?: ReadonlySet<string>;
  /** Node types of methods in the body of a class. */
  readonly methods?: ReadonlySet<string>;
  readonly isPublic?: (node: Node, name: string) => boolean;
  /** Node types of imports. `specifier`: pattern for the specifier in their text. */
  readonly imports: ReadonlySet<string>;
  readonly specifier: RegExp;
};

const startsUpper = (name: string) => /^\p{Lu}/u.test(name);
const isPublicByModifier = (node: Node) =>
  /^(?:\s*@[\w.]+(?:\([^)]*\))?)*\s*(?:\w+ )*?public\b/.test(headOf(node));
const headOf = (node: Node) => node.text.slice(0, 400);

/** Rules for the grammars that `ecmascript.ts` does not read. */
export const grammarRules: Readonly<Partial<Record<GrammarName, GrammarRules>>> = {
  python: {
    declarations: { class_definition: 'class', function_definition: 'function' },
    containers: new Set(['decorated_definition']),
    methods: new Set(['function_definition', 'decorated_definition']),
    isPublic: (_node, name) => !name.startsWith('_'),
    imports: new Set(['import_statement', 'import_from_statement', 'future_import_statement']),
    specifier: /^(?:from\s+([.\w]+)|import\s+([.\w]+))/,
  },
  go: {
    declarations: {
      const_spec: 'constant',
      function_declaration: 'function',
      method_declaration: 'method',
      type_spec: 'type',
      var_spec: 'constant',
    },
    containers: new Set(['type_declaration', 'const_declaration', 'var_declaration']),
    isPublic: (_node, name) => startsUpper(name) || name === 'main',
    imports: new Set(['import_spec']),
    specifier: /"([^"]+)"/,
  },
  rust: {
    declarations: {
      const_item: 'constant',
      enum_item: 'enum',
      function_item: 'function',
      macro_definition: 'macro',
      mod_item: 'module',
      static_item: 'constant',
      struct_item: 'struct',
      trait_item: 'trait',
      type_item: 'type',
    },
    isPublic: (node, name) =>
      /^pub\b/.test(node.text) || name === 'main' || node.type === 'macro_definition',
    imports: new Set(['use_declaration', 'mod_item']),
    specifier: /\b(?:use\s+([\w:]+)|mod\s+(\w+)\s*;)/,
  },
  java: {
    declarations: {
      annotation_type_declaration: 'interface',
      class_declaration: 'class',
      enum_declaration: 'enum',
      interface_declaration: 'interface',
      record_declaration: 'class',
    },
    methods: new Set(['method_declaration']),
    isPublic: isPublicByModifier,
    imports: new Set(['import_declaration']),
    specifier: /import\s+(?:static\s+)?([\w.]+)/,
  },
  'c-sharp': {
    declarations: {
      class_declaration: 'class',
      delegate_declaration: 'type',
      enum_declaration: 'enum',
      interface_declaration: 'interface',
      record_declaration: 'class',
      struct_declaration: 'struct',
    },
    containers: new Set([
      'namespace_declaration',
      'file_scoped_namespace_declaration',
      'declaration_list',
    ]),
    methods: new Set(['method_declaration']),
    isPublic: isPublicByModifier,
    imports: new Set(['using_directive']),
    specifier: /using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)/,
  },
  cpp: {
    declarations: {
      class_specifier: 'class',
      enum_specifier: 'enum',
      function_definition: 'function',
      preproc_function_def: 'macro',
      struct_specifier: 'struct',
      type_definition: 'type',
    },
    containers: new Set([
      'namespace_definition',
      'declaration_list',
      'linkage_specification',
      'preproc_ifdef',
      'preproc_if',
      'template_declaration',
    ]),
    isPublic: node => !/^static\b/.test(node.text),
    imports: new Set(['preproc_include']),
    specifier: /#\s*include\s*[<"]([^>"]+)[>"]/,
  },
  php: {
    declarations: {
      class_declaration: 'class',
      enum_declaration: 'enum',
      function_definition: 'function',
      interface_declaration: 'interface',
      trait_declaration: 'trait',
    },
    containers: new Set(['namespace_definition', 'compound_statement']),
    methods: new Set(['method_declaration']),
    imports: new Set(['namespace_use_declaration', 'expression_statement']),
    specifier:
      /^(?:use\s+(?:function\s+|const\s+)?([\w\\]+)|(?:require|include)(?:_once)?\b[^'"]*['"]([^'"]+)['"])/,
  },
  ruby: {
    declarations: {
      class: 'class',
      method: 'method',
      module: 'module',
      singleton_method: 'method',
    },
    containers: new Set(['body_statement']),
    methods: new Set(['method', 'singleton_method']),
    imports: new Set(['call']),
    specifier: /^require(?:_relative)?\b[\s(]*['"]([^'"]+)['"]/,
  },
  bash: {
    declarations: { function_definition: 'function' },
    imports: new Set(['command']),
    specifier: /^(?:source|\.)\s+["']?([^\s"']+)/,
  },
  powershell: {
    declarations: { class_statement: 'class', function_statement: 'function' },
    containers: new Set(['statement_list']),
    imports: new Set(),
    specifier: /^$/,
  },
};
