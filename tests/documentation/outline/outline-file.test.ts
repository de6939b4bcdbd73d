import assert from 'node:assert/strict';
import { afterAll, describe, test } from 'vitest';
import { systemClock } from '#core';
import { countLines } from '../../../hub/documentation/outline/outline-file.ts';
import type { FileOutline } from '../../../hub/documentation/outline/outline-types.ts';
import { createParserThread } from '../../../hub/documentation/outline/parser-thread.ts';

const parser = createParserThread({ clock: systemClock });
afterAll(async () => {
  await parser[Symbol.asyncDispose]();
});

async function outlineOf(path: string, text: string): Promise<FileOutline> {
  const file = { path, text, bytes: text.length, hash: 'h' };
  const { outlines } = await parser.parse([file]);
  const [outline] = outlines;
  assert.ok(outline);
  return outline;
}

/** Returns one line for each symbol: its line number, kind, signature and comment. */
const shown = ({ symbols }: FileOutline) =>
  symbols.map(
    ({ line, kind, signature, doc, members = [] }) =>
      `${line} ${kind} ${signature}${doc === undefined ? '' : ` // ${doc}`}${members.length > 0 ? ` {${members.join()}}` : ''}`,
  );

describe('the exports of a file:', () => {
  test.each<readonly [path: string, text: string, symbols: readonly string[]]>([
    [
      'a.ts',
      [
        '// Copyright 2026',
        'const limit = 3;',
        '/** Opens it.',
        ' *',
        ' * More. */',
        'export async function open(path: string): Promise<void> {}',
        'export type Place = { readonly path: string; find(): void };',
        'export class Store extends Base { #hidden() {} private inner() {} read() {} }',
        'export { limit, limit as most };',
        "export * from './other.ts';",
        'export default open;',
      ].join('\n'),
      [
        '6 function async function open(path: string): Promise<void> // Opens it.',
        '7 type type Place {path,find}',
        '8 class class Store extends Base {read}',
        '2 constant limit = 3',
        '2 constant limit = 3',
        "10 re-export from './other.ts'",
      ],
    ],
    [
      'a.cjs',
      "'use strict';\n// Adds.\nfunction add (a, b) { return a + b }\nmodule.exports = { add, twice: x => 2 * x };\nmodule.exports.default = add;\nexports.none = null;\n",
      ['3 function function add (a, b) // Adds.', '4 constant twice: x', '6 constant null'],
    ],
    [
      'a.py',
      '"""Words.\n\nMore."""\nclass Word(Base):\n    """One word."""\n    def read(self): pass\n    def _hidden(self): pass\n\n@cached\ndef count(text: str) -> int:\n    """Counts."""\n    return 0\n\ndef _private(): pass\n',
      [
        '4 class class Word(Base) // One word. {read}',
        '10 function def count(text: str) -> int // Counts.',
      ],
    ],
    [
      'a.go',
      'package a\n\n// Server serves.\ntype Server struct{}\n\n// Close ends it.\nfunc (s *Server) Close() error { return nil }\n\nfunc hidden() {}\nconst (\n\t// Most is the limit.\n\tMost = 3\n)\n',
      [
        '4 type Server struct{} // Server serves.',
        '7 method func (s *Server) Close() error // Close ends it.',
        '12 constant Most = 3 // Most is the limit.',
      ],
    ],
    [
      'a.rs',
      '/// Adds.\npub fn add(a: i32) -> i32 { a }\nfn hidden() {}\npub struct Point { x: i32 }\npub trait Shape { fn area(&self); }\n',
      [
        '2 function pub fn add(a: i32) -> i32 // Adds.',
        '4 struct pub struct Point',
        '5 trait pub trait Shape',
      ],
    ],
    [
      'A.java',
      'package a;\n/** A store. */\npublic class Store {\n  public void open() {}\n  private void inner() {}\n}\nclass Hidden {}\n',
      ['3 class public class Store // A store. {open}'],
    ],
    [
      'A.cs',
      'namespace A {\n  /// <summary>A store.</summary>\n  public class Store { public void Open() {} void Inner() {} }\n}\n',
      ['3 class public class Store // A store. {Open}'],
    ],
    [
      'a.c',
      '/* Adds. */\nint add(int a, int b) { return a + b; }\nstatic int hidden(void) { return 0; }\n',
      ['2 function int add(int a, int b) // Adds.'],
    ],
    [
      'a.php',
      '<?php\n/** A store. */\nclass Store { public function open() {} }\nfunction add($a) { return $a; }\n',
      ['3 class class Store // A store. {open}', '4 function function add($a)'],
    ],
    [
      'a.rb',
      '# A store.\nclass Store\n  def open; end\nend\n',
      ['2 class class Store // A store. {open}'],
    ],
    ['a.sh', '# Starts it.\nstart() {\n  echo\n}\n', ['2 function start() // Starts it.']],
  ])('%s', async (path, text, symbols) => {
    const outline = await outlineOf(path, text);
    assert.ok(outline.isParsed);
    assert.deepEqual(shown(outline), symbols);
  });
});

describe('the imports of a file:', () => {
  test.each([
    [
      'a.ts',
      "import a from './a.ts';\nexport { b } from '#b';\nawait import('c');\nconst d = require('d');\n",
      ['./a.ts', '#b', 'c', 'd'],
    ],
    ['a.py', 'import os.path\nfrom .words import count\n', ['os.path', '.words']],
    [
      'a.go',
      'package a\nimport (\n\t"fmt"\n\tx "example.org/a/b"\n)\nimport "os"\n',
      ['fmt', 'example.org/a/b', 'os'],
    ],
    ['a.rs', 'use crate::words::count;\nmod inner;\n', ['crate::words::count', 'inner']],
    ['A.java', 'package a;\nimport a.b.C;\nimport static a.D.e;\n', ['a.b.C', 'a.D.e']],
    ['a.c', '#include <stdio.h>\n#include "a.h"\n', ['stdio.h', 'a.h']],
    [
      'a.php',
      "<?php\nuse App\\Models\\User;\nrequire_once __DIR__ . '/b.php';\n",
      ['App\\Models\\User', '/b.php'],
    ],
    ['a.rb', "require 'json'\nrequire_relative '../b'\n", ['json', '../b']],
    ['a.sh', 'source ./lib.sh\n', ['./lib.sh']],
  ])('%s', async (path, text, specifiers) => {
    const { imports } = await outlineOf(path, text);
    assert.deepEqual(imports, specifiers);
  });
});

describe('the comment of a file:', () => {
  test.each([
    ['a.ts', '/** What it is for. */\n\nexport const a = 1;\n', 'What it is for.'],
    [
      'a.ts',
      '// Copyright 2026\n\n// Reads words.\n// In order.\n\nexport const a = 1;\n',
      'Reads words. In order.',
    ],
    ['a.ts', '/** Belongs to a. */\nexport const a = 1;\n', undefined],
    ['a.py', '#!/usr/bin/env python\n"""Reads words."""\n', 'Reads words.'],
    ['a.rs', '//! Reads words.\n\npub fn a() {}\n', 'Reads words.'],
  ])('%s %j', async (path, text, doc) => {
    assert.equal((await outlineOf(path, text)).doc?.text, doc);
  });
});

test('a file of comments, and one of braces, are read in linear time', async () => {
  const comments = await outlineOf('a.ts', '// Reads words.\n'.repeat(30_000));
  assert.deepEqual([comments.isParsed, comments.doc?.line], [true, 1]);
  const braces = await outlineOf('a.ts', `/** Reads. ${'{@link '.repeat(60_000)} */\n\nlet a;\n`);
  assert.equal(braces.isParsed, true);
});

test('a file without a grammar has only a line count, and one with a syntax error its readable names', async () => {
  const styles = await outlineOf('a.css', 'a {}\n');
  assert.deepEqual([styles.isParsed, styles.language, styles.lines], [false, 'CSS', 1]);
  const broken = await outlineOf('a.ts', 'export function a() {}\nexport function (((\n');
  assert.deepEqual(broken.symbols.map(({ name }) => name).slice(0, 1), ['a']);
});

test('files with secrets and generated files are not parsed', async () => {
  const secret = `const key = '${'ghp_'}${'a'.repeat(36)}';`;
  const files = [
    { path: 'a.ts', text: `\n${secret}`, bytes: 1, hash: '' },
    { path: 'b.go', text: '// Code generated by x. DO NOT EDIT.\npackage b\n', bytes: 1, hash: '' },
  ];
  const { outlines, excluded } = await parser.parse(files);
  assert.deepEqual(outlines, []);
  assert.deepEqual(excluded, [
    { path: 'a.ts', reason: 'secret', what: 'line 2' },
    { path: 'b.go', reason: 'generated' },
  ]);
});

test('lines are counted as in editors', () => {
  assert.deepEqual(['', 'a', 'a\n', 'a\n\n', '\n'].map(countLines), [0, 1, 1, 2, 1]);
});
