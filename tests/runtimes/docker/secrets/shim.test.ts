import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import type { DockerTarget, LaunchSpec } from '#runtimes';
import {
  isThroughShim,
  secretsOf,
  throughShim,
} from '../../../../hub/runtimes/docker/secrets/shim.ts';
import { specOf } from '../hub.ts';

const bare = { entrypoint: [], command: [], env: [] };

/** Returns a spec in which the variables in `secrets` are secret. */
const specWith = (secrets: LaunchSpec['env'], others: LaunchSpec['env'] = {}): LaunchSpec => ({
  ...specOf('files', { command: 'node' }, { ...others, ...secrets }),
  secretEnv: Object.keys(secrets),
});

function wrap(spec: LaunchSpec, change: Partial<DockerTarget> = {}, image = {}) {
  assert.ok(spec.target.kind === 'docker');
  const wrapped = throughShim(spec, { ...spec.target, ...change }, { ...bare, ...image });
  assert.ok(wrapped);
  return wrapped;
}

/** Runs a program behind the shim. Returns its environment, and the rest of its input. */
function received(spec: LaunchSpec, image = {}): { env: Record<string, string>; input: string } {
  const read =
    'console.log(JSON.stringify({ env: process.env, input: require("node:fs").readFileSync(0, "utf8") }))';
  const {
    target,
    line,
    spec: rest,
  } = wrap(spec, { command: process.execPath, args: ['-e', read] }, image);
  const out = execFileSync(target.command, target.args, {
    input: Buffer.concat([line, Buffer.from('{"first":"message"}\nand more')]),
    env: { PATH: process.env['PATH'], ...rest.env },
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  return JSON.parse(out);
}

/** All one-byte UTF-8 characters but NUL, and some of two to four bytes. */
const characters = `${String.fromCharCode(...Array.from({ length: 127 }, (_, index) => index + 1))}äß€漢字🦊\u0085\u0088`;

describe('a server behind the shim gets its secrets unchanged:', () => {
  test.each<[string, string]>([
    ['every character', characters],
    ['every character, twice', characters + characters],
    ['several lines', '-----BEGIN KEY-----\nabc\n\ndef\n-----END KEY-----'],
    ['a line break at the end', 'value\n'],
    ['line breaks alone', '\n\n\n'],
    ['line breaks of Windows', 'one\r\ntwo\r\n'],
    ['white space around it', ' \t value \t '],
    ['nothing', ''],
    [
      'what a shell would expand',
      '$HOME `id` $(id) * ? [a-z] ~ \\ \\n \\0101 %s %b "quoted" \'too\'',
    ],
    ['what looks like another variable', 'a=b OTHER=c'],
    ['100,000 bytes', 'k'.repeat(100_000)],
    ['the most bytes that Linux allows', '0'.repeat(131_072 - 'VALUE='.length - 1)],
  ])('%s', (_, value) => {
    const { env, input } = received(specWith({ VALUE: value, LAST: 'last' }));
    assert.equal(env['VALUE'], value);
    assert.equal(env['LAST'], 'last');
    assert.equal(input, '{"first":"message"}\nand more', 'the messages follow');
  });

  test('and nothing else from the shim', () => {
    const { env } = received(specWith({ TOKEN: 'secret' }, { PLAIN: 'plain' }));
    assert.equal(env['PLAIN'], 'plain');
    assert.deepEqual(
      Object.keys(env).filter(name => name.includes('agenthub')),
      [],
    );
  });

  test('under names that a shell uses itself and can pass on', () => {
    const secrets = { IFS: 'a b', HOME: '/a b', PS4: '$x', ENV: 'e', p: '1', l: '2', PATH: '/bin' };
    const { env } = received(specWith({ ...secrets, AFTER: 'a b c' }));
    assert.deepEqual(
      Object.fromEntries(Object.keys(secrets).map(name => [name, env[name]])),
      secrets,
    );
    assert.equal(env['AFTER'], 'a b c');
  });

  test('beside variables with names that no shell can set', () => {
    const spec = specWith({ TOKEN: 'secret' }, { 'discovery.type': 'single node' });
    const { env } = received(spec, { env: ['PATH=/bin', 'a-b=of the image'] });
    assert.equal(env['TOKEN'], 'secret');
    assert.equal(env['discovery.type'], 'single node');
    assert.equal(env['a-b'], 'of the image');
  });
});

test('the configuration for the engine contains no value of a secret', () => {
  const value = 'very secret';
  const { spec, target } = wrap(specWith({ TOKEN: value, EMPTY: '' }, { PLAIN: 'plain' }));
  assert.deepEqual(spec.env, { PLAIN: 'plain' });
  assert.ok(!JSON.stringify([target, spec.env]).includes(value));
});

test('the input is one line, whatever the values are', () => {
  const { line } = wrap(specWith({ A: characters, B: '\n', C: '\r\n' }));
  assert.equal(line.indexOf('\n'), line.length - 1);
  assert.match(line.toString(), /^[\x20-\x7e]+\n$/);
});

describe('the shim runs what the container would run without it:', () => {
  const image = { entrypoint: ['/entry', '--flag'], command: ['serve'] };
  test.each<[string, Partial<DockerTarget>, object, readonly string[]]>([
    ['the entrypoint of the image with its arguments', {}, image, ['/entry', '--flag', 'serve']],
    ['the entrypoint with other arguments', { args: ['x'] }, image, ['/entry', '--flag', 'x']],
    ['a command without arguments of the image', { command: 'node' }, image, ['node']],
    ['a command with arguments', { command: 'node', args: ['a b'] }, image, ['node', 'a b']],
    ['arguments alone', { args: ['x'] }, bare, ['x']],
    ['the command of an image without an entrypoint', {}, { command: ['a', 'b'] }, ['a', 'b']],
  ])('%s', (_, change, of, words) => {
    const spec = { ...specWith({ TOKEN: 'secret' }), target: specOf('files', change).target };
    const { target } = wrap(spec, {}, of);
    assert.equal(target.command, '/bin/sh');
    assert.deepEqual(target.args.slice(3), words);
    assert.ok(isThroughShim([target.command, ...target.args]));
    assert.ok(!isThroughShim(words));
  });

  test('nothing, if neither entry nor image name a command: the engine reports it', () => {
    const { target } = specOf('files', {});
    assert.ok(target.kind === 'docker');
    assert.equal(throughShim(specWith({ TOKEN: 'secret' }), target, bare), undefined);
  });
});

/** Asserts that `work` throws an error that names the variable and never shows its value. */
const refuses = (work: () => unknown, variable: string, problem: RegExp) =>
  assert.throws(work, (error: unknown) => {
    assert.ok(error instanceof Error && 'code' in error && 'data' in error && isObject(error.data));
    assert.equal(error.code, 'HUB_LAUNCH_INVALID');
    assert.equal(error.data['variable'], variable);
    assert.ok(error.message.startsWith(`files: the variable "${variable}" in "env"`));
    assert.match(error.message, problem);
    assert.ok(!error.message.includes('hush'));
    return true;
  });

describe('a variable with a secret is refused by its name', () => {
  test.each<[string, string, RegExp]>([
    ['a NUL character', 'hush\0hush', /has a NUL character/],
    ['a byte more than Linux allows', 'hush'.padEnd(131_066, 'x'), /is 131073 bytes long/],
    ['the same in characters of three bytes', 'hush'.padEnd(43_693, '漢'), /is 131078 bytes long/],
  ])('for %s', (_, value, problem) =>
    refuses(() => secretsOf(specWith({ TOKEN: value, OTHER: 'x' })), 'TOKEN', problem),
  );

  test('if all together are too long', () => {
    const secrets = Object.fromEntries(
      Array.from({ length: 9 }, (_, index) => [`KEY_${index}`, 'hush'.padEnd(120_000, 'x')]),
    );
    refuses(() => secretsOf(specWith(secrets)), 'KEY_8', /1080063 bytes long, and 1048576/);
  });

  test.each(['discovery.type', '1A', 'a-b', 'ä', ' ', 'A B'])('that no shell can set: "%s"', name =>
    refuses(() => wrap(specWith({ [name]: 'hush' })), name, /letters, digits and "_"/),
  );

  test.each(['_', '_agenthub_line', 'UID', 'OPTIND', 'BASH_ENV', 'LC_ALL', 'LANG', 'SHLVL'])(
    'that a shell changes or writes to its log: %s',
    name => refuses(() => wrap(specWith({ [name]: 'hush' })), name, /a meaning of its own/),
  );
});

test('a variable without a secret may have any of these names and sizes', () => {
  const env = { UID: '1', LANG: 'C', BIG: 'x'.repeat(200_000) };
  assert.deepEqual(secretsOf(specOf('files', {}, env)), {});
  assert.deepEqual(wrap(specWith({ TOKEN: 'hush' }, env)).spec.env, env);
  assert.deepEqual(
    secretsOf({ ...specOf('files', {}), secretEnv: ['GONE'] }),
    {},
    'a name without a value says nothing',
  );
});
