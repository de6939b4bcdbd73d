import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import { isObject } from '#core';
import { describeWithBrowser } from '#helpers/browser';
import { getJson, startHub, states, until } from '#helpers/hub-process';
import { becomes, described } from '../../faults/scene.ts';
import { losesFocus, seriousFindings } from './axe.ts';
import {
  type Dashboard,
  connectAs,
  enhance,
  inlineServer,
  mostlyProcesses,
  openDashboard,
  useServers,
} from './scene.ts';

/** Maximum delay of a live page that misses an event, in ms: it polls every 10 s. */
const liveMs = 12_000;

describeWithBrowser('in the dashboard', () => {
  let dashboard: Dashboard;

  beforeAll(async () => {
    dashboard = await openDashboard(mostlyProcesses);
    await useServers(dashboard.hub, 4);
  });

  afterAll(() => dashboard?.[Symbol.asyncDispose]());

  const instanceOf = async (server: string) =>
    JSON.stringify((await described(dashboard.hub, server))['instance']);

  /** Resolves when a server runs as another instance. */
  async function replaced(server: string, before: string): Promise<void> {
    await until(
      () => described(dashboard.hub, server),
      ({ state, instance }) => state === 'running' && JSON.stringify(instance) !== before,
      20_000,
    );
  }

  const rowOf = (page: Page, server: string) =>
    page
      .getByRole('main')
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: server, exact: true }) });

  /** Marks a page, so that a reload is detected by the missing mark. */
  const mark = async (page: Page) => void (await page.evaluate('window.isTheSamePage = true'));
  const assertSamePage = async (page: Page) =>
    assert.equal(await page.evaluate('window.isTheSamePage'), true, 'the page was loaded again');

  /** Resolves when the page receives live updates. */
  const becomesLive = async (page: Page) => await page.getByText('Live', { exact: true }).waitFor();
  const shows = async (place: Locator, text: RegExp, timeout = liveMs) =>
    await place.filter({ hasText: text }).first().waitFor({ timeout });

  test('a server that is killed is seen without a reload, and is started again', async () => {
    // At this width, a problem has its own line, so that a new problem moves the content below it.
    const viewport = { width: 1000, height: 720 };
    await dashboard.visit(
      async page => {
        await page.goto('/dashboard');
        const row = rowOf(page, 'archive');
        const start = row.getByRole('button', { name: /^Start/ });
        const placeOfStart = async () => ((await start.boundingBox()) ?? assert.fail()).y;
        await start.click();
        const place = await placeOfStart();
        await shows(row, /running/);
        assert.equal(await placeOfStart(), place, 'no other action is under the pointer');
        assert.ok(await start.isDisabled());
        await becomesLive(page);
        await mark(page);
        await row.getByRole('link', { name: 'archive', exact: true }).focus();
        await start.hover({ force: true });
        await dashboard.container('archive').kill();
        await shows(row, /failed/);
        assert.equal(await page.locator(':focus').textContent(), 'archive', 'the focus stays');
        const problem = page.locator('.problems li').filter({ hasText: 'archive' });
        await shows(problem, /exited|killed|ended/i);
        assert.ok(Math.abs((await placeOfStart()) - place) < 1, 'the page moves under the pointer');
        await problem.getByRole('button', { name: 'Retry archive' }).click();
        await shows(row, /running/);
        await problem.waitFor({ state: 'detached' });
        await assertSamePage(page);
      },
      { viewport },
    );
  });

  test('a button restarts a server', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/notes');
      const before = await instanceOf('notes');
      await page.getByRole('button', { name: /^restart/i }).click();
      await replaced('notes', before);
      await shows(page.getByRole('main'), /running/i);
    });
  });

  test('a page that the back button restores is brought up to date at once', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/calendar');
      await page.locator('#live').getByText('Live').waitFor();
      await page.evaluate(
        `dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`,
      );
      const reload = page.waitForRequest(/state-partial/, { timeout: 3_000 });
      await page.evaluate(
        `dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`,
      );
      await reload;
    });
  });

  test('a button works while its part of the page is being updated', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard');
      const row = rowOf(page, 'notes');
      const before = await instanceOf('notes');
      const restart = row.getByRole('button', { name: /^Restart/ });
      await becomesLive(page);
      await restart.hover();
      await page.mouse.down();
      const asked = page.waitForResponse(/health-partial/);
      const restarted = await fetch(`${dashboard.hub.url}/servers/calendar/restart`, {
        method: 'POST',
        headers: dashboard.hub.ownerHeaders,
      });
      assert.equal(restarted.status, 200);
      await (await asked).finished();
      await page.mouse.up();
      await replaced('notes', before);
    });
  });

  test('the keyboard alone reaches an action, and shows where it is', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/notes');
      const before = await instanceOf('notes');
      const focused = page.locator(':focus');
      for (let tabs = 0; ; tabs++) {
        assert.ok(tabs < 60, 'Restart cannot be reached by Tab');
        await page.keyboard.press('Tab');
        if (/^restart/i.test((await focused.textContent()) ?? '')) break;
      }
      const outline = await focused.evaluate('getComputedStyle(document.activeElement).outline');
      assert.doesNotMatch(String(outline), /none|\b0px/, 'nothing shows what has the focus');
      await page.keyboard.press('Enter');
      await replaced('notes', before);
    });
  });

  test('a server is stopped and started', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/notes');
      const [stop, start] = [/^Stop/, /^Start/].map(name => page.getByRole('button', { name }));
      const places = async () => [await stop?.boundingBox(), await start?.boundingBox()];
      const before = await places();
      await stop?.click();
      await becomes(dashboard.hub, 'notes', 'stopped');
      await start?.click();
      await becomes(dashboard.hub, 'notes', 'running');
      await shows(page.getByRole('status'), /starting notes/i);
      // A part of the page that is being loaded has no bounding box.
      await until(places, found => found.every(one => one !== null), 10_000);
      assert.deepEqual(await places(), before, 'the message moves the buttons');
      await page.getByRole('button', { name: 'Dismiss' }).click();
      assert.equal(await page.locator('#notice').innerText(), '');
    });
  });

  test('the caches are cleared', async () => {
    for (const prompt of ['fix my code', 'fix my code']) await enhance(dashboard.hub, prompt);
    await dashboard.visit(async page => {
      await page.goto('/dashboard/caches');
      await page
        .getByRole('button', { name: /^clear/i })
        .first()
        .click();
      await until(
        () => getJson(dashboard.hub, '/ollama/cache/stats'),
        stats => isObject(stats) && isObject(stats['l1']) && stats['l1']['entries'] === 0,
        5_000,
      );
      await shows(page.getByRole('status'), /cleared|removed|forgotten/i);
    });
  });

  test('a tool is called by its form', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/calendar');
      await page.getByRole('link', { name: 'Try it: create_event' }).click();
      await page.getByLabel(/^title/).fill('Tea & <b>cake</b>');
      await page.getByLabel(/^attendees/).fill('4');
      await page.getByLabel(/^room/).selectOption('Garden');
      await page.getByLabel(/^remind/).selectOption('true');
      await page.getByLabel(/^agenda/).fill('["sugar", "milk"]');
      await mark(page);
      await page.getByRole('button', { name: /^call/i }).click();
      const said = page.getByRole('region', { name: 'Text' });
      assert.deepEqual(JSON.parse(await said.innerText()), {
        title: 'Tea & <b>cake</b>',
        attendees: 4,
        room: 'Garden',
        remind: true,
        agenda: ['sugar', 'milk'],
      });
      const { y = -1 } = (await said.boundingBox()) ?? {};
      assert.ok(y >= 0 && y < 720, 'the result is seen without scrolling');
      await page.getByRole('region', { name: 'Latest calls' }).getByText('dashboard').waitFor();
      assert.deepEqual(await page.evaluate(losesFocus), []);
      await assertSamePage(page);
    });
  });

  test('activity is shown live, is filtered, and each call has a page', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/activity');
      await becomesLive(page);
      await mark(page);
      await using client = await connectAs(dashboard.hub, 'codex', '0.50.0');
      await client.call('calendar_create_event', { title: 'Live one', room: 'Kitchen' });
      const main = page.getByRole('main');
      await shows(main.getByRole('row'), /codex/);
      await assertSamePage(page);

      await page.getByLabel('Server').selectOption('notes');
      const bodies = main.locator('tbody tr');
      await bodies.filter({ hasText: 'calendar' }).first().waitFor({ state: 'detached' });
      assert.ok((await bodies.count()) > 0);
      for (const text of await bodies.allInnerTexts()) assert.match(text, /notes/);
      await assertSamePage(page);

      await page.goto('/dashboard/activity?text=codex');
      await bodies.first().getByRole('link').first().click();
      await shows(main, /Live one/);
      await shows(main, /codex/);
    });
  });

  test('the filter works at the speed of a person, with no errors in the console', async () => {
    await using client = await connectAs(dashboard.hub, 'windsurf', '1.0.0');
    await client.call('notes_recall');
    await dashboard.visit(async page => {
      await page.goto('/dashboard/activity');
      const rows = page.getByRole('main').locator('tbody tr');
      await page.getByLabel('Tool').fill('notes_recall');
      await page.getByLabel('Tool').press('Enter');
      await page.waitForURL(/\?tool=notes_recall$/);
      await page.getByLabel('Server').selectOption('notes');
      await page.getByLabel('Client').selectOption('windsurf 1.0.0');
      await page.waitForURL(/server=notes&client=windsurf\+1\.0\.0/);
      assert.equal(await rows.count(), 1);

      await rows.getByRole('link', { name: /^Calls of session/ }).click();
      await page.waitForURL(/\?session=\d+$/);
      await shows(rows, /initialize/);
      const inSession = await rows.count();
      assert.ok(inSession > 1);
      await page.getByLabel('Tool').fill('notes_recall');
      await page.waitForURL(/session=\d+&tool=notes_recall$/);
      assert.equal(await rows.count(), 1);
    });
  });

  test('a tool gets nested arguments, which the form keeps for another call', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/studio');
      await page.getByRole('link', { name: 'Try it: order' }).click();
      const [customer, items] = ['customer', 'items'].map(name =>
        page.getByRole('group', { name }),
      );
      await customer?.getByLabel(/^name/).fill('Ada');
      await customer?.getByLabel(/^city/).fill('Bern');
      await items?.getByRole('button', { name: 'Add items' }).click();
      await items?.getByLabel(/^title/).fill('Poster');
      await items?.getByRole('button', { name: 'Add items' }).click();
      await page
        .getByRole('group', { name: 'items 2' })
        .getByLabel(/^title/)
        .fill('Card');
      await page.getByLabel(/^tags/).fill('blue\nlarge');
      const order = {
        customer: { name: 'Ada', address: { city: 'Bern' } },
        items: [{ title: 'Poster' }, { title: 'Card' }],
        tags: ['blue', 'large'],
      };
      const said = async () =>
        JSON.parse(await page.getByRole('region', { name: 'Text' }).innerText());
      await page.getByRole('button', { name: 'Call order' }).click();
      assert.deepEqual(await said(), order);
      await page.getByText('Copy as curl or command').click();
      const command = await page.getByRole('region', { name: 'curl' }).innerText();
      assert.ok(
        command.includes('/mcp/studio/tools/call') && command.includes('"city":"Bern"'),
        command,
      );
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.reload();
      await page.getByRole('link', { name: /^use again: the arguments of call/ }).click();
      assert.equal(
        await page
          .getByRole('group', { name: 'items 2' })
          .getByLabel(/^title/)
          .inputValue(),
        'Card',
      );
      await page.getByRole('button', { name: 'Call order' }).click();
      assert.deepEqual(await said(), order);
    });
  });

  test('a switch turns a tool off for clients and on again, and the log shows the runs of the server', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/calendar');
      const toggle = page.getByRole('switch', { name: 'list_events' });
      await page.getByText(/\d+ tokens in the context/).waitFor();
      await toggle.click();
      await page.getByRole('switch', { name: 'list_events', checked: false }).waitFor();
      await shows(page.getByRole('status'), /Turned list_events off/);
      const tools = await getJson(dashboard.hub, '/servers/calendar/tools');
      assert.match(
        JSON.stringify(tools),
        /"name":"list_events","public_name":"[^"]*","enabled":false/,
      );
      await page.getByRole('link', { name: 'list_events', exact: true }).click();
      await page.getByText('turned off by servers.calendar.tools.deny').waitFor();
      await page.goBack();
      await toggle.click();
      await page.getByRole('switch', { name: 'list_events', checked: true }).waitFor();

      await page.getByRole('link', { name: 'Log', exact: true }).click();
      await page.getByLabel('Find').fill('initialize');
      await page.getByLabel('Run').selectOption('0');
      await page.getByRole('button', { name: 'Show' }).click();
      await page.waitForURL(/find=initialize/);
      assert.deepEqual(await seriousFindings(page, 'all'), []);
    });
  });

  test('a tool shows pictures, reports progress, asks the person, and is cancelled', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/studio/tool?name=draw');
      await page.getByRole('button', { name: 'Call draw' }).click();
      const picture = page.getByRole('img', { name: 'Image of the result' });
      await picture.waitFor();
      assert.equal(await picture.evaluate('document.querySelector(".media img").naturalWidth'), 1);
      assert.equal(
        await page.getByRole('region', { name: 'Resource studio://notes' }).innerText(),
        'Dry.',
      );
      await page.getByRole('link', { name: 'http://localhost:9090/wall' }).waitFor();
      await shows(page.getByRole('region', { name: 'Structured result' }), /"width": 1/);

      await page.goto('/dashboard/servers/studio/tool?name=paint');
      await becomesLive(page);
      const paint = page.getByRole('button', { name: 'Call paint' });
      await paint.click();
      await shows(page.locator('#run'), /primed/);
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.getByLabel('colour').selectOption('green');
      await page.getByRole('button', { name: 'Send' }).click();
      await shows(page.getByRole('region', { name: 'Text' }), /^accept green$/);
      await page.getByRole('button', { name: 'Run again' }).click();
      await page.getByRole('button', { name: 'Decline' }).click();
      await shows(page.getByRole('region', { name: 'Text' }), /^decline/);
      await paint.click();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await shows(page.locator('#run'), /cancelled/i);
    });
  });

  test('a slow tool call is shown as in progress', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/servers/notes/tool?name=slow');
      await page.getByText('Write the arguments as JSON instead').click();
      await page.getByLabel('Arguments as JSON').fill('{"ms": 1000}');
      await page.getByRole('button', { name: 'Call slow' }).click();
      const sign = page.getByText('Working…');
      await sign.waitFor();
      await page.getByRole('region', { name: 'Text' }).waitFor();
      await sign.waitFor({ state: 'hidden' });
    });
  });

  test('health is shown as unknown while the hub is down, until it answers', async () => {
    await dashboard.visit(
      async page => {
        await page.goto('/dashboard');
        await becomesLive(page);
        const look = async () => await page.evaluate("htmx.trigger(document.body, 'health')");
        const [known, unknown] = [page.getByText('Degraded'), page.getByText('Unknown')];
        await known.waitFor();
        assert.ok(!(await unknown.isVisible()));
        await page.context().setOffline(true);
        await look();
        await unknown.waitFor();
        assert.ok(!(await known.isVisible()));
        const gone = page.getByRole('alert').getByText(/^The hub does not answer/);
        await gone.waitFor();
        assert.notEqual(
          await page.evaluate("getComputedStyle(document.querySelector('main')).filter"),
          'none',
        );
        await page.context().setOffline(false);
        await look();
        await known.waitFor();
        assert.ok(!(await unknown.isVisible()));
        assert.ok(!(await gone.isVisible()));
      },
      { expected: /ERR_INTERNET_DISCONNECTED|htmx:(afterRequest|sendError)/ },
    );
  });

  test('sessions appear and disappear', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/sessions');
      await becomesLive(page);
      const rows = page.getByRole('main').getByRole('row').filter({ hasText: 'raycast' });
      const client = await connectAs(dashboard.hub, 'raycast', '1.100.0');
      await client.call('notes_recall');
      await shows(rows, /1\.100\.0/);
      await client[Symbol.asyncDispose]();
      await useServers(dashboard.hub, 1);
      await rows.waitFor({ state: 'detached' });
    });
  });

  test('a form that is sent twice is one request', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/install');
      await page.getByLabel('Package, image').fill('@example/server');
      let requests = 0;
      await page.route('**/dashboard/install', async route => {
        requests++;
        // Answers after the second click, and leaves the page as it is.
        await delay(500);
        await route
          .fulfill({ status: 204 })
          .catch(() => undefined /* The second request has cancelled the first. */);
      });
      const answered = page.waitForResponse('**/dashboard/install');
      await page.evaluate(`{
        const button = document.getElementById('begin');
        button.click();
        setTimeout(() => button.click(), 100);
      }`);
      await answered;
      assert.equal(requests, 1);
    });
  });

  test('a server is installed, with its progress, and removed', async () => {
    await dashboard.visit(async page => {
      await page.goto('/dashboard/install');
      await page.getByLabel(/^package/i).fill('docker:node:24-bookworm-slim');
      await page.getByLabel(/^name/i).fill('fresh');
      await page.getByText('More', { exact: true }).click();
      await page.getByLabel(/^arguments/i).fill(`node\n-e\n${inlineServer}`);
      await page.getByRole('button', { name: /^install/i }).click();
      await shows(page.getByRole('main'), /Installed as fresh/, 20_000);
      await shows(page.getByRole('region', { name: 'Steps' }), /its entry is written/);

      await page.getByRole('link', { name: 'fresh' }).click();
      await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
      await page.getByRole('link', { name: /^remove/i }).click();
      await page.getByRole('button', { name: /^remove/i }).click();
      await until(
        () => states(dashboard.hub),
        found => found['fresh'] === undefined,
        10_000,
      );
      await page.waitForURL(/\/dashboard(\?|$)/);
    });
  });

  test('a hub with a token admits a browser with the token, until it logs out', async () => {
    const token = 'a-token-of-this-test';
    await using guarded = await startHub({
      config: { servers: {} },
      env: { ROUTER_TOKEN: token },
    });
    await dashboard.visit(
      async page => {
        await page.goto('/dashboard/sessions');
        await page.getByLabel(/token/i).fill('wrong');
        await page.getByRole('button', { name: /log in/i }).click();
        await page.getByRole('alert').waitFor();
        assert.deepEqual(await seriousFindings(page, 'all'), []);
        await page.getByLabel(/token/i).fill(token);
        await page.getByRole('button', { name: /log in/i }).click();
        await page.getByRole('heading', { name: 'Sessions' }).waitFor();
        const [cookie, ...others] = await page.context().cookies();
        assert.ok(cookie?.httpOnly && cookie.sameSite === 'Strict' && others.length === 0);
        assert.ok(!cookie.value.includes(token));
        await page.getByRole('button', { name: 'Log out' }).click();
        await page.getByLabel(/token/i).waitFor();
        assert.deepEqual(await page.context().cookies(), []);
      },
      { baseURL: guarded.url, expected: /status of 401/ },
    );
  });

  test('actions work without JavaScript too', async () => {
    await dashboard.visit(
      async page => {
        await page.goto('/dashboard/servers/calendar');
        const before = await instanceOf('calendar');
        await page.getByRole('button', { name: /^restart/i }).click();
        await replaced('calendar', before);
        assert.equal(new URL(page.url()).origin, new URL(dashboard.hub.url).origin);

        await page.goto('/dashboard/servers/calendar');
        await page.getByRole('link', { name: 'Try it: list_events' }).click();
        await page.getByRole('button', { name: /^call/i }).click();
        assert.equal(await page.getByRole('region', { name: 'Text' }).innerText(), '[]');

        await page.goto('/dashboard/servers/studio/tool?name=paint');
        await page.getByRole('button', { name: /^call/i }).click();
        await page.getByLabel('colour').selectOption('red');
        await page.getByRole('button', { name: 'Send' }).click();
        await shows(page.getByRole('region', { name: 'Text' }), /^accept red$/);

        await enhance(dashboard.hub, 'fix my code');
        await page.goto('/dashboard/caches');
        await page
          .getByRole('button', { name: /^clear/i })
          .first()
          .click();
        await shows(page.getByRole('status'), /cleared|removed|forgotten/i);

        await page.goto('/dashboard/activity');
        await page.getByLabel('Server').selectOption('calendar');
        await page.getByRole('button', { name: 'Filter' }).click();
        await page.waitForURL(/server=calendar/);
        for (const text of await page.getByRole('main').locator('tbody tr').allInnerTexts())
          assert.match(text, /calendar/);
      },
      { javaScriptEnabled: false },
    );
  });
});
