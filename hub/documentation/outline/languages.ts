import { posix } from 'node:path';

export type GrammarName =
  | 'bash'
  | 'c-sharp'
  | 'cpp'
  | 'go'
  | 'java'
  | 'javascript'
  | 'php'
  | 'powershell'
  | 'python'
  | 'ruby'
  | 'rust'
  | 'tsx'
  | 'typescript';

type Language = {
  readonly name: string;
  /** Tree-sitter grammar. If undefined, files are counted, but their symbols are not read. */
  readonly grammar: GrammarName | undefined;
};

const byExtension: Readonly<Record<string, Language>> = {
  ...of('JavaScript', 'javascript', ['js', 'mjs', 'cjs', 'jsx']),
  ...of('TypeScript', 'typescript', ['ts', 'mts', 'cts']),
  ...of('TypeScript', 'tsx', ['tsx']),
  ...of('Python', 'python', ['py', 'pyi']),
  ...of('Go', 'go', ['go']),
  ...of('Rust', 'rust', ['rs']),
  ...of('Java', 'java', ['java']),
  ...of('C#', 'c-sharp', ['cs']),
  ...of('C', 'cpp', ['c', 'h']),
  ...of('C++', 'cpp', ['cc', 'cpp', 'cxx', 'hh', 'hpp', 'hxx']),
  ...of('PHP', 'php', ['php']),
  ...of('Ruby', 'ruby', ['rb']),
  ...of('Shell', 'bash', ['sh', 'bash']),
  ...of('PowerShell', 'powershell', ['ps1', 'psm1']),
  ...of('Kotlin', undefined, ['kt', 'kts']),
  ...of('Swift', undefined, ['swift']),
  ...of('Scala', undefined, ['scala']),
  ...of('Dart', undefined, ['dart']),
  ...of('Lua', undefined, ['lua']),
  ...of('Elixir', undefined, ['ex', 'exs']),
  ...of('Zig', undefined, ['zig']),
  ...of('SQL', undefined, ['sql']),
  ...of('Vue', undefined, ['vue']),
  ...of('Svelte', undefined, ['svelte']),
  ...of('CSS', undefined, ['css', 'scss', 'less']),
  ...of('HTML', undefined, ['html', 'htm']),
};

function of(name: string, grammar: GrammarName | undefined, extensions: readonly string[]) {
  return Object.fromEntries(extensions.map(extension => [extension, { name, grammar }]));
}

/** Returns the programming language of a file by its extension; undefined for other files. */
export function languageOf(path: string): Language | undefined {
  const extension = posix.extname(path).slice(1).toLowerCase();
  return Object.hasOwn(byExtension, extension) ? byExtension[extension] : undefined;
}

const testFolders = /(?:^|\/)(?:tests?|__tests__|spec|specs|testing)\//i;
const testNames =
  /(?:[._-](?:test|spec)\.\w+|_test\.(?:go|py)|Tests?\.(?:java|cs|php))$|(?:^|\/)test_[^/]*\.py$/;

/** True if a file contains tests, by its path. */
export const isTestFile = (path: string): boolean => testFolders.test(path) || testNames.test(path);
