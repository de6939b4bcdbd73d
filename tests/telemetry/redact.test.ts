import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'vitest';
import { parseExactly } from '#core';
import { startCpuTimer } from '#helpers/cpu-time';
import { createKnownSecrets, createLog, createRedaction, redactJson, redactText } from '#telemetry';

const gone = '[redacted]';

describe('a text is shown without what looks like a credential', () => {
  test.for([
    ['Authorization: Bearer abcdef123', `Authorization: Bearer ${gone}`],
    ['sent Basic dXNlcjpwYXNzd29yZA==', `sent Basic ${gone}`],
    ['token ghp_abcdefghijkl end', `token ${gone} end`],
    ['tool_ghp_abcdefghijkl', `tool_${gone}`],
    ['github_pat_11ABCDEFG0', gone],
    ['sk-ant-api03-abcdefgh', gone],
    ['xoxb-1234567890-abc', gone],
    ['id AKIAIOSFODNN7EXAMPLE', `id ${gone}`],
    ['eyJhbGciOiJI.eyJzdWIiOiIx.SflKxw-RJ', gone],
    ['redis://:hunter2@host:6379/0', `redis://:${gone}@host:6379/0`],
    ['https://user:pw@host/path', `https://user:${gone}@host/path`],
    ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nrest', `${gone}\nrest`],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', gone],
    ['PASSWORD=hunter2 and', `PASSWORD=${gone} and`],
    ['GET /?token=abcd&x=1', `GET /?token=${gone}&x=1`],
    ['run --api-key abcd1 now', `run --api-key ${gone} now`],
    ['password: hunter2', `password: ${gone}`],
    ['{"password":"pa\\"ss","x":1}', `{"password":"${gone}","x":1}`],
    ['{"api_key":12345678}', `{"api_key":"${gone}"}`],
    [
      '{"text":"{\\"token\\":\\"a\\\\\\"b\\",\\"z\\":1}"}',
      `{"text":"{\\"token\\":\\"${gone}\\",\\"z\\":1}"}`,
    ],
    ['{"secret":"cut off he', `{"secret":"${gone}"`],
    ['Authorization: Basic YWJjOmRlZg==', `Authorization: Basic ${gone}`],
    ['-H "Proxy-Authorization: Basic YWJjOmRlZg=="', `-H "Proxy-Authorization: Basic ${gone}"`],
    ['sent Basic YWJjOmRlZg== to it', `sent Basic ${gone} to it`],
    ['Authorization: Digest username="me", response="f00"', `Authorization: Digest ${gone}`],
    ['Cookie: session=abcdefghijkl', `Cookie: session=${gone}`],
    ['password = hunter', `password = ${gone}`],
    ['it has api_key = abcdef in it', `it has api_key = ${gone} in it`],
    ['  db_password = correct horse battery', `  db_password = ${gone}`],
    ['with "password" : \'two words\', then', `with "password" : '${gone}', then`],
    ['password = "two words"', `password = "${gone}"`],
    ['PASSWORD="two words" x', `PASSWORD="${gone}" x`],
    [':secret => "abc def"', `:secret => "${gone}"`],
    ['clientSecret := abcdef', `clientSecret := ${gone}`],
    ['Passwort = geheim', `Passwort = ${gone}`],
    ['curl -u admin:hunter https://h', `curl -u admin:${gone} https://h`],
    ['machine h login me password hunter', `machine h login me password ${gone}`],
    ['db.example.com:5432:shop:app:hunter', `db.example.com:5432:shop:app:${gone}`],
    ['AccountKey=abcdefghij0123456789+/ABC==;x', `AccountKey=${gone};x`],
  ] as const)('%s', ([text, shown]) => {
    assert.equal(redactText(text), shown);
  });

  test.for([
    'token: GITHUB_TOKEN is missing',
    'the token is expired',
    '"progressToken":"abc","max_tokens":100',
    'task-abcdefghijkl is done, see https://host/path',
    'basic information about bearer tokens',
    'http://localhost:9090/mcp',
    'Basic authentication is needed, see Basic Auth',
    'if (token == null) token = undefined',
    'const token = process.env.API_TOKEN',
    'docker run --user 1000:1000 image',
    'max_tokens = 100, cancellationToken: none',
    'at /srv/app/token.ts:12:5',
    '12:30:45:msg:error',
    'the token: it is expired',
  ])('and is otherwise unchanged: %s', text => {
    assert.equal(redactText(text), text);
  });

  test('in linear time', () => {
    const parts = [
      '"token" : "x ',
      'eyJ',
      '-eyJ',
      '_eyJab',
      '-----BEGIN PRIVATE KEY-----',
      'token',
      'a://',
      'x_',
      '-',
    ];
    for (const part of parts) {
      const cpuMs = startCpuTimer();
      redactText(part.repeat(300_000 / part.length));
      assert.ok(cpuMs() < 2_000, part);
    }
  });

  test('in linear time also after an incomplete key', () => {
    const cpuMs = startCpuTimer();
    const text = `-----BEGIN PRIVATE KEY-----END ${'PRIVATE KEY '.repeat(25_000)}`;
    assert.equal(redactText(text), '[redacted]');
    assert.ok(cpuMs() < 2_000);
  });
});

describe('a value is shown without', () => {
  test('the value of a member named like a credential, at any depth', () => {
    const shown = redactJson({
      a: [{ accessToken: 'x', password: 12345678, 'x-api-key': 'x' }],
      headers: { any: 'x' },
      env: { ANY: 'x' },
      list: [{ name: 'API_KEY', value: 'x' }],
      args: ['--token', 'x', '--plain', 'x'],
    });
    assert.deepEqual(shown, {
      a: [{ accessToken: gone, password: gone, 'x-api-key': gone }],
      headers: gone,
      env: gone,
      list: [{ name: 'API_KEY', value: gone }],
      args: ['--token', gone, '--plain', 'x'],
    });
  });

  test('but with members of other names', () => {
    const value = {
      tokens: 3,
      progressToken: 'p',
      NODE_ENV: 'test',
      at: null,
      ok: true,
      secret: null,
    };
    assert.deepEqual(redactJson(value), value);
  });

  test('credentials in its strings', () => {
    assert.deepEqual(redactJson({ why: ['sk-abcdefgh1234 failed'] }), { why: [`${gone} failed`] });
  });
});

describe('values that are known to be secret', () => {
  const { text, json } = createRedaction(() => [
    'hunter2-hunter2',
    'say "hush" now',
    'one\ntwo-two-two',
    'Bearer abc-def-ghi',
  ]);

  test.for([
    ['x hunter2-hunter2 y', `x ${gone} y`],
    [JSON.stringify({ k: 'say "hush" now' }), `{"k":"${gone}"}`],
    [encodeURIComponent('say "hush" now'), gone],
    ['line two-two-two', `line ${gone}`],
    ['only abc-def-ghi', `only ${gone}`],
    ['cut at hunter2-hunt', `cut at ${gone}`],
    ['base64 aHVudGVyMi1odW50ZXIy', `base64 ${gone}`],
    [`user=${btoa('me:hunter2-hunter2')}`, 'user=bWU6[redacted]'],
    ['say%20%22hush%22%20now', gone],
    ['say+%22hush%22+now', gone],
  ] as const)('are removed from %s', ([given, shown]) => {
    assert.equal(text(given), shown);
  });

  test('are removed from encoded text, in any encoding and context', () => {
    const secret = "päss/w?rd>~!with(all)'kinds'";
    const known = createRedaction(() => [secret]).text;
    for (const around of ['', 'a', 'ab', 'abc'])
      for (const after of ['', 'x', 'xy']) {
        const bytes = Buffer.from(`${around}${secret}${after}`);
        const encoded = [bytes.toString('base64'), bytes.toString('base64url')];
        for (const text of [...encoded, ...encoded.map(encodeURIComponent)]) {
          const left = Buffer.from(known(text).replace('[redacted]', ''), 'base64');
          assert.ok(known(text).includes(gone), text);
          assert.ok(left.length <= around.length + after.length + 4, known(text));
        }
      }
    const percent = encodeURIComponent(secret);
    const small = percent.replaceAll(/%../g, code => code.toLowerCase());
    const strict = percent.replaceAll(/[!'()*~]/g, mark => `%${mark.charCodeAt(0).toString(16)}`);
    const form = new URLSearchParams({ q: secret }).toString().slice(2);
    for (const text of [percent, small, strict, form]) assert.equal(known(text), gone);
  });

  test('are removed from a long text quickly, however many there are', () => {
    const values = Array.from({ length: 200 }, (_, index) => `value-${index}-of-a-server/${index}`);
    const known = createRedaction(() => values).text;
    known('prepared');
    const cpuMs = startCpuTimer();
    assert.match(known(`${'A text of 16 by. '.repeat(60_000)} value-7-of-a-server/7`), /redacted/);
    assert.ok(cpuMs() < 2_000);
  });

  test('are removed even if they are too long for a regular expression', () => {
    const long = randomBytes(75_000).toString('base64');
    const lines = `${'a/b+c '.repeat(20_000)}"\nend of it`;
    const known = createRedaction(() => [long, lines, 'hunter2-hunter2']).text;
    const small = encodeURIComponent(long).replaceAll(/%../g, code => code.toLowerCase());
    for (const form of [
      long,
      encodeURIComponent(long),
      small,
      Buffer.from(long).toString('base64'),
      lines,
      JSON.stringify(lines).slice(1, -1),
      encodeURIComponent(lines),
    ])
      assert.ok(known(`x ${form} y`) === `x ${gone} y`, form.slice(0, 40));
    assert.ok(known(`cut at ${long.slice(0, 50_000)}`) === `cut at ${gone}`);
    assert.equal(known('x hunter2-hunter2 y'), `x ${gone} y`);
    const alone = createRedaction(() => [long]).text;
    assert.equal(alone('plain'), 'plain');
  });

  test.for([
    ['of sk_live_: sk_live_4f9', `of sk_live_: ${gone}`],
    ['0000000000000000-4f', `0000${gone}`],
    ['sk_live_ sk_live_', `sk_live_ ${gone}`],
    ['sk_live_ and no more', 'sk_live_ and no more'],
  ] as const)(
    'are removed from an end where their beginning occurs twice: %s',
    ([given, shown]) => {
      const known = createRedaction(() => [
        'sk_live_4f9c1e7a62d8b350',
        '000000000000-4f9c1e7a62d8',
      ]);
      assert.equal(known.text(given), shown);
    },
  );

  test('are removed from strings in values', () => {
    assert.deepEqual(json({ a: ['hunter2-hunter2'] }), { a: [gone] });
  });

  test('are removed as long numbers, without affecting other numbers', () => {
    const known = createRedaction(() => ['12345678901234567890']);
    const value = known.json(parseExactly('{"n":12345678901234567890,"id":9007199254740993}'));
    assert.equal(JSON.stringify(value), `{"n":"${gone}","id":9007199254740993}`);
  });

  test('are those of the current config and of earlier ones', () => {
    const launch = (value: string) => ({ launch: { env: { SETTING: value } } });
    let configs = [launch('first-value-1')];
    const redaction = createRedaction(
      createKnownSecrets(() => configs, { variables: {}, settings: [] }),
    );
    assert.equal(redaction.text('first-value-1 second-value-2'), `${gone} second-value-2`);
    configs = [launch('second-value-2')];
    assert.equal(redaction.text('first-value-1 second-value-2'), `${gone} ${gone}`);
  });
});

test('a log line has no secret in its fields, its message and its stack', () => {
  const lines: string[] = [];
  const log = createLog(
    { level: 'info', format: 'json' },
    { write: line => void lines.push(line) },
    createRedaction(() => ['planted-value']),
  );
  const error = new Error('it was planted-value');
  log.error({ error, stack: error.stack }, 'about planted-value');
  assert.equal(lines.length, 1);
  assert.doesNotMatch(lines[0] ?? '', /planted-value/);
  assert.match(lines[0] ?? '', /redact\.test/, 'where it was thrown is still told');
});
