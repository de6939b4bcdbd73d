import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithBrowser, visit } from '#helpers/browser';
import { openCatalogHub } from '../catalog/scene.ts';
import type { Registered } from '../doubles/mcp-registry.ts';
import { losesFocus, seriousFindings } from './browser/axe.ts';
import { leadsTo, owner, visitor } from './scene.ts';

const postgres = 'io.github.someone/postgres-mcp';
const page = `/dashboard/catalog/server?name=${encodeURIComponent(postgres)}`;
/** Server whose texts all try to inject markup. */
const evil: Registered = {
  server: {
    name: 'com.evil/box',
    title: '<script>alert(1)</script>',
    description: '"><img src=x onerror=alert(1)>',
    version: '1.0.0"><b>',
    websiteUrl: 'javascript:alert(1)',
    packages: [
      {
        registryType: 'npm',
        identifier: 'evil',
        version: '1.0.0',
        transport: { type: 'stdio' },
        environmentVariables: [
          {
            name: 'A"><b>',
            description: '<i>',
            default: '"><u>',
            placeholder: '"><s>',
            choices: ['<em>', 'b'],
          },
          { name: 'PLAIN', placeholder: '"><s>' },
        ],
      },
      {
        registryType: 'oci',
        identifier: 'evil/box:1',
        transport: { type: 'stdio' },
        runtimeArguments: [{ type: 'named', name: '--privileged<b>' }],
      },
    ],
  },
};

let scene: Awaited<ReturnType<typeof openCatalogHub>>;
let isOn = true;
beforeAll(async () => {
  scene = await openCatalogHub({ isOn: () => isOn });
  scene.registry.servers = [...scene.registry.servers, evil];
});
afterAll(async () => await scene?.[Symbol.asyncDispose]());

const form = (more: Readonly<Record<string, string>> = {}) => ({
  server: postgres,
  version: '2.0.0',
  option: '0',
  'field.env.DATABASE_PASSWORD': '${GIVEN}',
  'field.variables.database': 'shop',
  ...more,
});

test('the registry is queried for a search only, and only by the owner', async () => {
  const me = owner(scene.hub);
  const first = await me.get('/dashboard/catalog');
  assert.match(first.text, /Words in names and descriptions/);
  assert.deepEqual(scene.registry.asked, []);
  assert.equal((await visitor(scene.hub).get('/dashboard/catalog?q=x')).status, 401);
  assert.deepEqual(scene.registry.asked, []);
  const { text } = await me.get('/dashboard/catalog?q=postgres');
  assert.match(
    text,
    /PostgreSQL<\/a>[\s\S]*npm[\s\S]*oci[\s\S]*remote[\s\S]*someone \(GitHub\) · 42 stars/,
  );
});

test('HTML of publishers is shown as text', async () => {
  const me = owner(scene.hub);
  for (const path of ['/dashboard/catalog?q=evil', '/dashboard/catalog/server?name=com.evil/box']) {
    const { status, text } = await me.get(path);
    assert.equal(status, 200);
    for (const tag of ['<script>alert', '<img', '<b>', '<u>', '<s>', '<em>', 'javascript:'])
      assert.ok(!text.includes(tag), `${path}: ${tag}`);
    assert.match(text, /&lt;script&gt;alert\(1\)/);
  }
});

test('a server has a form for each option, or the reason why it is not possible', async () => {
  const { text } = await owner(scene.hub).get(page);
  assert.match(text, /name="field\.env\.DATABASE_PASSWORD" type="password"[^>]* required/);
  assert.match(text, /<select[^>]*name="field\.variables\.mode"[^>]*>[\s\S]*<option selected>ro/);
  assert.match(text, /Refused: the hub does not hand on the option &quot;--privileged&quot;/);
  assert.match(text, /name="field\.variables\.token" type="password"/);
  assert.equal(text.match(/<form [^>]*catalog\/server/g)?.length, 2);
});

test('settings beyond the sandbox are confirmed, and the install is a job', async () => {
  const me = owner(scene.hub);
  const asked = await me.post('/dashboard/catalog/server', form({ network: 'bridge' }));
  assert.equal(asked.status, 409);
  for (const name of ['variable:GIVEN', 'network:bridge'])
    assert.ok(asked.text.includes(`name="confirm" value="${name}" required>`), name);
  const agreed = new URLSearchParams(form({ network: 'bridge' }));
  agreed.append('confirm', 'variable:GIVEN');
  agreed.append('confirm', 'network:bridge');
  const way = leadsTo(await me.post('/dashboard/catalog/server', agreed));
  assert.match(way, /^\/dashboard\/install\//);
});

test('the form %j is shown again with the reason', async () => {
  const me = owner(scene.hub);
  const sent = form({ 'field.env.DATABASE_PASSWORD': 'hunter2!', name: 'shop', network: 'bridge' });
  const asked = await me.post('/dashboard/catalog/server', sent);
  assert.equal(asked.status, 409, asked.text);
  assert.doesNotMatch(asked.text, /hunter2/);
  assert.match(asked.text, /type="text" value="\$\{secret:SHOP_DATABASE_PASSWORD\}"/);
  assert.equal(scene.secrets.get('SHOP_DATABASE_PASSWORD'), 'hunter2!');
});

test.each([
  [{ option: 'x' }, /option: write a whole number/],
  [{ 'field.variables.database': '' }, /needs values that the request does not give/],
  [{ 'field.variables.mode': 'odd' }, /is not allowed/],
])('%j is sent back with the reason', async (more, message) => {
  const { status, text } = await owner(scene.hub).post('/dashboard/catalog/server', form(more));
  assert.equal(status, 400);
  assert.match(text, message);
  assert.match(text, /role="alert"/);
});

test('the page says that a registry is unreachable, or that the catalog is off', async () => {
  const me = owner(scene.hub);
  scene.registry.fault = 'fails';
  assert.match(
    (await me.get('/dashboard/catalog?q=postgres')).text,
    /was not reached \(it answers 500\)/,
  );
  assert.equal((await me.get('/dashboard/catalog/server?name=com.example/files')).status, 503);
  scene.registry.fault = undefined;
  isOn = false;
  const off = await me.get('/dashboard/catalog');
  isOn = true;
  assert.equal(off.status, 409);
  assert.match(off.text, /asks no registry/);
});

describeWithBrowser('the catalog in a browser', () => {
  test('is searched and filled in by keyboard, fits every width, and has no serious findings', async () => {
    const at = {
      baseURL: scene.hub.url,
      extraHTTPHeaders: scene.hub.ownerHeaders,
      expected: /409 \(Conflict\)/,
    };
    await visit(at, async shown => {
      await shown.goto('/dashboard/catalog');
      await shown.getByLabel('Words in names and descriptions').fill('postgres');
      await shown.keyboard.press('Enter');
      await shown.getByRole('link', { name: 'PostgreSQL' }).click();
      await shown.getByRole('heading', { level: 1, name: 'PostgreSQL' }).waitFor();
      for (const width of [400, 1_400, 1_920]) {
        await shown.setViewportSize({ width, height: 900 });
        const needed = Number(await shown.evaluate('document.documentElement.scrollWidth'));
        assert.ok(needed <= width, `${needed} pixels wide on ${width}`);
      }
      assert.deepEqual(await seriousFindings(shown, 'all'), []);
      assert.deepEqual(await shown.evaluate(losesFocus), []);
      await shown.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await seriousFindings(shown, 'contrast'), []);
      await shown.getByLabel('DATABASE_PASSWORD', { exact: true }).fill('${GIVEN}');
      await shown.getByLabel('database', { exact: true }).fill('shop');
      await shown.getByRole('button', { name: 'Install' }).first().press('Enter');
      await shown.getByText('needs more than the default sandbox').waitFor();
    });
  });
});
