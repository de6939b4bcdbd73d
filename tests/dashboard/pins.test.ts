import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startHub } from '#helpers/hub';
import { openTestPins } from '../definitions/test-pins.ts';
import { leadsTo, owner, visitor } from './scene.ts';

async function open() {
  await using stack = new AsyncDisposableStack();
  const said = stack.use(
    await openTestPins([
      [{ name: 'echo' }, { add: 'Adds.', sub: 'Subtracts.' }],
      [{ name: 'notes' }, { notes_upload: 'Uploads.' }],
    ]),
  );
  const hub = stack.use(await startHub([{ name: 'echo' }], { pins: said.pins }));
  const kept = stack.move();
  return {
    said,
    owner: owner(hub),
    anybody: visitor(hub),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const badgeIn = (text: string) =>
  /id="pins-badge"[^>]*>\s*<span class="badge warn">(\d+)/.exec(text)?.[1];

/** Returns the path and the hidden fields of the form with a button. */
function formOf(text: string, button: string) {
  const forms = [...text.matchAll(/<form method="post" action="([^"]+)".*?<\/form>/gs)];
  const [form, action = ''] =
    forms.find(([all]) => all.includes(`aria-label="${button}"`)) ?? assert.fail(button);
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [
      name,
      value.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>'),
    ],
  );
  return { path: action, fields: new URLSearchParams(fields) };
}

describe.each([
  ['the page of pins', '/dashboard/pins'],
  ['the page of a server', '/dashboard/servers/echo'],
])('%s', (_, path) => {
  test('shows the difference of a change, and its buttons decide exactly about that', async () => {
    await using scene = await open();
    assert.doesNotMatch((await scene.owner.get(path)).text, /class="diff"/);
    scene.said.say('echo', { add: 'Adds two <b>.\u202e', sub: 'Steals.', more: 'New.' });
    const { text } = await scene.owner.get(path);
    assert.match(
      text,
      /<span class="removed">- {3}Adds\.\n<\/span><span class="added">\+ {3}Adds two &lt;b&gt;\.&lt;U\+202E&gt;\n<\/span>/,
    );
    assert.match(text, /contains invisible or bidirectional characters: U\+202E/);
    assert.doesNotMatch(text, /\u202e/);
    assert.equal(badgeIn(text), '3');

    const accept = formOf(text, 'Accept the tool add of echo');
    const sent = await scene.owner.post(accept.path, accept.fields);
    assert.equal(leadsTo(sent).split('?')[0], path);
    assert.match(
      (await scene.owner.get(leadsTo(sent))).text,
      /Accepted the changed definitions of echo/,
    );
    const reject = formOf(text, 'Reject the tool sub of echo');
    await scene.owner.post(reject.path, reject.fields);
    const after = await scene.owner.get(path);
    assert.equal(badgeIn(after.text), '1');
    assert.deepEqual(
      scene.said.pins.report('echo').deviations.map(({ name, state }) => [name, state]),
      [
        ['sub', 'rejected'],
        ['more', 'new'],
      ],
    );
  });

  test('refuses to accept a definition that has changed since it was shown', async () => {
    await using scene = await open();
    scene.said.say('echo', { add: 'Adds two.', sub: 'Subtracts two.' });
    const { text } = await scene.owner.get(path);
    scene.said.say('echo', { add: 'Steals.', sub: 'Subtracts two.' });
    for (const button of ['Accept the tool add of echo', 'Accept all 2 of echo']) {
      const { path: action, fields } = formOf(text, button);
      const answer = await scene.owner.post(action, fields);
      assert.equal(answer.status, 409);
      assert.match(answer.text, /has changed since it was shown/);
    }
    assert.equal(scene.said.pins.waiting, 2);
    const now = formOf((await scene.owner.get(path)).text, 'Accept all 2 of echo');
    assert.equal((await scene.owner.post(now.path, now.fields)).status, 303);
    assert.equal(scene.said.pins.waiting, 0);
  });

  test('can decide about names with characters that forms would change', async () => {
    await using scene = await open();
    const odd = 'a\nb"<\ud800>é';
    scene.said.say('echo', { add: 'Adds.', sub: 'Subtracts.', [odd]: 'New.' });
    const { text } = await scene.owner.get(path);
    const { path: action, fields } = formOf(
      text,
      'Accept the tool a&lt;U+000A&gt;b&quot;&lt;&lt;U+D800&gt;&gt;é of echo',
    );
    assert.equal((await scene.owner.post(action, fields)).status, 303);
    assert.equal(scene.said.pins.waiting, 0);
  });

  test('shows waiting changes only to the owner', async () => {
    await using scene = await open();
    scene.said.say('echo', { add: 'Adds two.', sub: 'Subtracts.' });
    const { text } = await scene.anybody.get(path);
    assert.doesNotMatch(text, /Adds two|pins-badge/);
    const answer = await scene.anybody.post('/dashboard/actions/pins-accept/echo', {
      name: '"add"',
    });
    assert.equal(answer.status, 401);
    assert.equal(scene.said.pins.waiting, 1);
  });
});

test('pins that are not in the config are listed, and a lock file that is not used is reported', async () => {
  await using scene = await open();
  scene.said.configure('echo');
  assert.match(
    (await scene.owner.get('/dashboard/pins')).text,
    /not in the config: notes\. Their pins are in <code>[^<]*hub\.lock\.json/,
  );
});

test('more changes than a page shows are counted, and cannot be accepted without being shown', async () => {
  await using scene = await open();
  const many = Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`t${at}`, 'New.']));
  scene.said.say('echo', { add: 'Adds.', sub: 'Subtracts.', ...many });
  const { text } = await scene.owner.get('/dashboard/pins');
  assert.equal([...text.matchAll(/class="diff"/g)].length, 20);
  assert.match(text, /and 5 more: decide about these first/);
  assert.doesNotMatch(text, /Accept all/);
});

test('the overview lists waiting changes, to the owner only', async () => {
  await using scene = await open();
  assert.doesNotMatch((await scene.owner.get('/dashboard')).text, /Waiting for you/);
  scene.said.say('echo', { add: 'Adds two.', sub: 'Subtracts.' });
  assert.match(
    (await scene.owner.get('/dashboard')).text,
    /Waiting for you.*href="\/dashboard\/pins">1 definition</s,
  );
  assert.doesNotMatch((await scene.anybody.get('/dashboard')).text, /Waiting for you/);
});
