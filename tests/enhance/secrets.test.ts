import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { holdsSecret } from '../../hub/enhance/secrets.ts';

/** Joins the parts of a secret, which is split so that no scanner reports this file as a leak. */
const made = (...parts: readonly string[]) => parts.join('');
const long = 'Zk39dLq0Xv7TbN2mRw8YcPf5';

describe('a secret is detected in', () => {
  test.for([
    [
      'a private key',
      made('-----BEGIN ', 'RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----'),
    ],
    ['an OpenSSH key', made('fix this: -----BEGIN OPENSSH ', 'PRIVATE KEY-----')],
    [
      'a JSON web token',
      made('why is eyJhbGciOiJIUzI1NiJ9', '.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl bad'),
    ],
    ['an AWS key', made('use AKIA', 'IOSFODNN7EXAMPLE')],
    ['a GitHub token', made('git clone with ghp', '_16C7e42F292c6912E7710c838347Ae178B4a')],
    ['a fine-grained GitHub token', made('github', '_pat_11ABCDEFG0abcdefghijklmnop')],
    ['a GitLab token', made('glpat', '-abcdefghij0123456789')],
    ['an npm token', made('npm', `_${long}ABCdef012345`)],
    ['an OpenAI key', made('sk', `-proj-${long}`)],
    ['an Anthropic key', made('sk', `-ant-api03-${long}`)],
    ['a Stripe key', made('sk', '_live_4eC39HqLyjWDarjtT1zdp7dc')],
    ['a Slack token', made('xoxb', '-1234567890-abcdefghij')],
    ['a Google key', made('AIza', 'SyA1234567890abcdefghijklmnopqrstuv')],
    ['a Hugging Face token', made('hf', `_${long}`)],
    ['a header', 'curl -H "Authorization: Bearer abc.def-123"'],
    ['a header of another kind', 'Authorization: Basic dXNlcjpwYXNz'],
    ['a bearer token by itself', `send Bearer ${long}`],
    ['a cookie', 'Cookie: session=8f7d6a5b4c'],
    ['an address', 'postgres://app:s3cret@db.example.com/shop does not connect'],
    ['an address without a user', 'redis://:hunter2@cache:6379'],
    ['an address with a name in it', 'clone https://me:pw12@git.example.com/x.git'],
    ['curl', 'curl -u admin:hunter2 https://example.com'],
    ['a netrc', 'machine example.com login me password hunter2'],
    ['a pgpass', 'db.example.com:5432:shop:app:hunter2'],
    ['a command line', 'mysql --password=hunter2 shop'],
    ['a command line with a blank', 'login --token 1a2b3c4d'],
    ['an assignment', 'password = "hunter2"'],
    ['an assignment without quotes', 'my config has db_password: correct-horse'],
    ['JSON', '{"api_key": "9c8b7a6d5e"}'],
    ['YAML', 'client_secret: 9c8b7a6d5e'],
    ['camel case', 'const dbPassword = "hunter2!"'],
    ['an object', "{ accessToken: '9c8b7a6d5e' }"],
    ['a Ruby hash', ':secret => "9c8b7a6d5e"'],
    ['Go', 'token := "9c8b7a6d5e"'],
    ['an environment file', 'DATABASE_HOST=db\nDATABASE_USER=app'],
    ['a line of an environment file', 'explain\nSTRIPE_KEY=1a2b3c4d\n'],
    ['an export', 'export GITHUB_TOKEN=1a2b3c4d'],
    ['a sentence', 'the password is hunter2, why does login fail'],
    ['a German sentence', 'Das Passwort lautet hunter2'],
    ['Spanish', 'contraseña: hunter2'],
    ['a run of letters and figures', `what kind of key is ${long}aQ4`],
    [
      'a connection string',
      'DefaultEndpointsProtocol=https;AccountKey=abcdefghij0123456789+/ABC==',
    ],
    ['a signed address', 'https://x.blob.core.windows.net/c?sv=2022&sig=abcdefghij0123456789%2F'],
    [
      'the middle of a long prompt',
      `${'word '.repeat(5_000)}password=hunter2 ${'word '.repeat(5_000)}`,
    ],
  ] as const)('%s', ([, text]) => assert.equal(holdsSecret(text), true));

  test('a text that is too long to be searched', () => {
    assert.equal(holdsSecret('a '.repeat(100_001)), true);
  });
});

describe('no secret is detected in', () => {
  test.for([
    'How should I store passwords?',
    'What is a refresh token, and why is the token expired?',
    'Add a password field to the form',
    'type User = { name: string; password: string; token?: string }',
    'The password: string parameter is never used',
    'const token = process.env.GITHUB_TOKEN',
    'token = os.environ["API_TOKEN"]',
    'password: ${DB_PASSWORD}',
    'api_key: <your key>',
    'const token = await getToken()',
    'Explain the key: value syntax of YAML',
    'Revert commit 3f2a1b4c5d6e7f8091a2b3c4d5e6f70819203142',
    'Why does 550e8400-e29b-41d4-a716-446655440000 not parse as a UUID?',
    'Fix src/components/UserAuthentication2/LoginForm.test.tsx',
    'Rename getUserAccountByIdentifierAndTenant to findAccount',
    'git clone https://github.com/user/repo.git',
    'connect to postgres://localhost:5432/shop',
    'ssh git@github.com does not work',
    'Set NODE_ENV=production',
    'Which secret manager should I use?',
    'x = 3; if (token == null) return',
    'Write a tokenizer: it splits at blanks',
    'author: Jane Doe, keyboard: qwerty',
  ])('%s', text => assert.equal(holdsSecret(text), false));

  test('any prompt of the test sets', async () => {
    const { readPairs } = await import('../bench/pairs-table.ts');
    const seen = readPairs().filter(({ a, b }) => holdsSecret(a) || holdsSecret(b));
    assert.deepEqual(seen, []);
  });
});

test('no text takes long to search', () => {
  const cpuMs = startCpuTimer();
  for (const piece of ['a', 'a.', 'pass_', 'token: ', ' a=', 'a@', 'https://a:', 'a1B', '-', '='])
    holdsSecret(piece.repeat(Math.floor(100_000 / piece.length)));
  holdsSecret(`the password is${' '.repeat(100_000)}x`);
  assert.ok(cpuMs() < 10_000);
});
