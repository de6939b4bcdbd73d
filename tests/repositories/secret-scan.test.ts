import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { findSecrets } from '../../hub/repositories/secret-scan.ts';

const added = (...lines: readonly string[]) =>
  [
    'diff --git a/src/x.ts b/src/x.ts',
    'index 1..2 100644',
    '--- a/src/x.ts',
    '+++ b/src/x.ts',
    '@@ -4,0 +5,9 @@',
    ...lines.map(line => `+${line}`),
    '',
  ].join('\n');

const whatOf = async (line: string) => (await findSecrets(added(line)))[0]?.what;

test.each([
  ['-----BEGIN RSA PRIVATE KEY-----', 'a private key'],
  ['-----BEGIN OPENSSH PRIVATE KEY-----', 'a private key'],
  ['const key = "ghp_Zx81kd92kd03kd84kd75kd66";', 'a credential of a service'],
  ['AWS=AKIAIOSFODNN7EXAMPLE', 'a credential of a service'],
  [
    'url = "postgres://app:kd83kdLq0@db/x"',
    'a password or a token in a header, a URL or an option',
  ],
  [
    'Authorization: Bearer kd83kdLq0kd83kdLq0',
    'a password or a token in a header, a URL or an option',
  ],
  ['const password = "tr0ub4dor&3x";', 'a value of password'],
  ['  "api_key": "zQ8vK2mR9xT4wL7p",', 'a value of api_key'],
  ['API_TOKEN=zQ8vK2mR9xT4wL7pA1', 'a value of API_TOKEN'],
  ['const seed = "Zx81kd92Kd03kd84Lq75kd66Mw47kd38Nv29kd10Pu";', 'a long random value'],
])('%j is found as a secret', async (line, what) => {
  expect(await whatOf(line)).toBe(what);
});

test.each([
  'const password = process.env.PASSWORD;',
  'password: string;',
  'const token = readToken(file);',
  'password = "<your password>"',
  'API_KEY=${API_KEY}',
  'const secret = "changeme";',
  'sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'const tokens = 4096;',
  '// the token is sent in a header',
  'import { createAuthenticatedSessionFactory } from "./createAuthenticatedSessionFactory.ts";',
])('%j is not a secret', async line => {
  expect(await whatOf(line)).toBeUndefined();
});

test('a finding has path and line, but not the value', async () => {
  const diff = [
    added('a', 'password = "tr0ub4dor&3x"'),
    'diff --git "a/\\"q\\".txt" "b/\\"q\\".txt"',
    '--- /dev/null',
    '+++ "b/\\"q\\".txt"',
    '@@ -0,0 +1 @@',
    '++++ ghp_Zx81kd92kd03kd84kd75kd66',
  ].join('\n');
  const findings = await findSecrets(diff);
  expect(findings).toEqual([
    { path: 'src/x.ts', line: 6, what: 'a value of password' },
    { path: '"q".txt', line: 1, what: 'a credential of a service' },
  ]);
  expect(JSON.stringify(findings)).not.toMatch(/tr0ub|Zx81/);
});

test('deleted lines and context lines are ignored', async () => {
  const diff = added('x').replace(
    '+x',
    ' password = "tr0ub4dor&3x"\n-password = "tr0ub4dor&3x"\n+x\n+password = "tr0ub4dor&4y"',
  );
  expect(await findSecrets(diff)).toEqual([
    { path: 'src/x.ts', line: 7, what: 'a value of password' },
  ]);
});

test('long lines and many findings block nothing else', async () => {
  const line = `password="${'a1B'.repeat(100_000)}"`;
  const diff = added(...Array.from({ length: 200 }, () => line));
  let turns = 0;
  let isDone = false;
  const counting = (async () => {
    for (; !isDone; turns++) await setImmediate();
  })();
  const findings = await findSecrets(diff);
  isDone = true;
  await counting;
  expect(findings).toHaveLength(100);
  expect(turns).toBeGreaterThan(50);
});
