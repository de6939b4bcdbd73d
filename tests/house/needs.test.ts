import { globSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';

/** Maximum members of a `*Needs` type. A factory that needs more does two things. */
const maxMembers = 10;

type Statement = ReturnType<typeof parseAst>['body'][number];
type Alias = Extract<Statement, { type: 'TSTypeAliasDeclaration' }>;
type Interface = Extract<Statement, { type: 'TSInterfaceDeclaration' }>;
type Type = Alias['typeAnnotation'];
type Signatures = Interface['body']['body'];

/** Types that each file declares, by name. */
type Files = ReadonlyMap<string, ReadonlyMap<string, Alias | Interface>>;

const typesIn = (source: string): ReadonlyMap<string, Alias | Interface> =>
  new Map(
    parseAst(source, { lang: 'ts' }).body.flatMap(statement => {
      const declared =
        statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
      const isType =
        declared?.type === 'TSTypeAliasDeclaration' || declared?.type === 'TSInterfaceDeclaration';
      return isType ? [[declared.id.name, declared] as const] : [];
    }),
  );

/** Returns the member names of a type, and of those that it joins; for a union of strings, the strings. */
function membersOf(type: Type, file: string, files: Files): readonly string[] {
  const of = (other: Type | undefined) => (other ? membersOf(other, file, files) : []);
  switch (type.type) {
    case 'TSTypeLiteral':
      return namesOf(type.members);
    case 'TSLiteralType':
      return 'value' in type.literal ? [String(type.literal.value)] : [];
    case 'TSIntersectionType':
    case 'TSUnionType':
      return type.types.flatMap(of);
    case 'TSTypeReference': {
      const name = type.typeName.type === 'Identifier' ? type.typeName.name : '';
      const [first, second] = type.typeArguments?.params ?? [];
      if (name === 'Pick') return of(second);
      if (name === 'Omit') return of(first).filter(member => !of(second).includes(member));
      return name === 'Partial' ? of(first) : membersOfNamed(name, file, files);
    }
    default:
      throw new Error(`${file}: needs.test.ts cannot count the members of ${type.type}`);
  }
}

/** Finds types of other files by name: no two files of different rooms export the same name (names.test.ts). */
function membersOfNamed(name: string, file: string, files: Files): readonly string[] {
  const origin = [file, ...files.keys()].find(each => files.get(each)?.has(name)) ?? file;
  const declared = files.get(origin)?.get(name);
  if (!declared) throw new Error(`${file}: no file of the hub declares ${name}`);
  if (declared.type === 'TSTypeAliasDeclaration')
    return membersOf(declared.typeAnnotation, origin, files);
  const bases = declared.extends.map(({ expression }) =>
    expression.type === 'Identifier' ? expression.name : '',
  );
  return [
    ...namesOf(declared.body.body),
    ...bases.flatMap(base => membersOfNamed(base, origin, files)),
  ];
}

const namesOf = (signatures: Signatures) =>
  signatures.flatMap(one => ('key' in one && one.key.type === 'Identifier' ? [one.key.name] : []));

/** Counts the members of all types `*Needs`, by file and name. */
const sizesOf = (files: Files) =>
  new Map(
    [...files].flatMap(([file, types]) =>
      [...types.keys()]
        .filter(name => name.endsWith('Needs'))
        .map(name => [`${file} ${name}`, new Set(membersOfNamed(name, file, files)).size] as const),
    ),
  );

test('no needs have more than ten members, including those of the types that they extend', () => {
  const files = globSync('hub/**/*.ts');
  const sizes = sizesOf(new Map(files.map(file => [file, typesIn(readFileSync(file, 'utf8'))])));
  const wide = [...sizes].filter(([, size]) => size > maxMembers).map(([name]) => name);
  expect(wide, 'hand over less, or those of one concern as one value').toEqual([]);
});

test.each([
  ['type Needs = { a: 1; b(): void };', 2],
  ['type Needs = { a: 1 } & { a: 1; b: 2 };', 2],
  ['type Needs = Other & { c: 1 }; type Other = { a: { x: 1; y: 2 }; b: 2 };', 3],
  ["type Keys = 'a' | 'b'; type Needs = Pick<Far, Keys> & { c: 1 };", 3],
  ["type Needs = Omit<Far, 'a'>;", 2],
  ['export interface Needs extends Far { d: 1 }', 4],
])('%s has %i members', (source, expected) => {
  const files = { near: source, far: 'export type Far = { a: 1; b: 2; c: 3 };' };
  const types = new Map(Object.entries(files).map(([file, text]) => [file, typesIn(text)]));
  expect(sizesOf(types).get('near Needs')).toBe(expected);
});
