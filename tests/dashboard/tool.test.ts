import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';
import { until } from '#helpers/hub-process';
import { fieldsOf } from '#dashboard';
import { argumentsOf, valuesFor } from '../../hub/dashboard/tool-arguments.ts';
import { owner, visitor } from './scene.ts';

const hostile = `<img src=x onerror=alert(1)>"'`;

let hub: TestHub;
let page: ReturnType<typeof visitor>;

beforeAll(async () => {
  hub = await startHub([{ name: 'calendar' }, { name: 'asker' }]);
  page = owner(hub);
});
afterAll(() => hub?.[Symbol.asyncDispose]());

test('a definition of several MB is refused, because it would block the hub', async () => {
  const env = { TOOLS: '2', WORDS: '300000' };
  await using big = await startHub([{ name: 'big', file: 'many-tools.mjs', env }]);
  const path = '/dashboard/servers/big/tool?name=tool-1';
  for (const { status, text } of [await owner(big).get(path), await owner(big).post(path, {})]) {
    assert.equal(status, 400);
    assert.match(text, /the definition of .*tool-1.* has 1\.4 MiB: a page shows up to 1\.0 MiB/);
  }
});

const lastId = () => hub.activity.lastId;

describe('a question of a server during a call', () => {
  const question = (message: string, requestedSchema: object = { type: 'object' }) => ({
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema },
  });
  const path = (tool: string) => `/dashboard/servers/asker/tool?name=${tool}`;
  const part = (run: string) => `/dashboard/servers/asker/run-partial?run=${run}`;
  const runIn = (text: string) =>
    /run-cancel\/([^"]+)/.exec(text)?.[1] ?? assert.fail(`no call runs: ${text}`);
  const numberIn = (text: string) => /name="question" value="(\d+)"/.exec(text)?.[1] ?? '';

  async function call(tool: string, args: object) {
    const json = JSON.stringify(args);
    const { text } = await page.post(path(tool), { json }, { 'hx-request': 'true' });
    return { run: runIn(text), text };
  }
  async function shows(run: string, what: RegExp) {
    const ask = async () => (await page.get(part(run))).text;
    return await until(ask, text => what.test(text), 15_000);
  }
  const answer = (run: string, form: Readonly<Record<string, string>>) =>
    page.post(`/dashboard/actions/run-answer/${run}`, form, { 'hx-request': 'true' });

  test('has the titles of its fields and choices, as the server wrote them', async () => {
    const oneOf = [
      { const: 'eu-1', title: 'Frankfurt' },
      { const: 'us-1', title: 'Ohio' },
    ];
    const properties = { reg: { type: 'string', title: 'Your region', oneOf } };
    const { run } = await call('ask-all', {
      requests: [question('where?', { type: 'object', properties, required: ['reg'] })],
    });
    const text = await shows(run, /where\?/);
    assert.match(text, /<label for="answer-arg\.reg">Your region<\/label>/);
    assert.match(text, /<option value="us-1">Ohio<\/option>/);
    await answer(run, { question: numberIn(text), action: 'accept', 'arg.reg': 'us-1' });
    assert.match(await shows(run, /badge good">ok/), /us-1/);
  });

  test('is shown after the one before it, if the server sends several, and each gets its answer', async () => {
    const properties = { name: { type: 'string' } };
    const second = question('second?', { type: 'object', properties });
    const { run } = await call('ask-all', { requests: [question('first?'), second] });
    const text = await shows(run, /first\?/);
    assert.doesNotMatch(text, /second\?/);
    const form = { question: numberIn(text), action: 'accept' };
    await answer(run, form);
    const next = await shows(run, /second\?/);
    // Sends the same form again, as a second click does.
    await answer(run, { ...form, action: 'decline' });
    assert.match((await page.get(part(run))).text, /second\?/);
    await answer(run, { question: numberIn(next), action: 'accept', 'arg.name': 'Ada' });
    const result = await shows(run, /badge good">ok/);
    assert.match(result, /accept[\s\S]*accept[\s\S]*Ada/);
  });

  test('is removed once the server has cancelled it', async () => {
    const { run } = await call('ask-and-wait', {
      ...question('obsolete?'),
      next: question('instead?'),
    });
    await shows(run, /obsolete\?/);
    await page.post(path('withdraw'), { json: '{}' }, { 'hx-request': 'true' });
    const text = await shows(run, /instead\?/);
    assert.doesNotMatch(text, /obsolete\?/);
    await answer(run, { question: numberIn(text), action: 'accept' });
    await shows(run, /badge good">ok/);
  });

  test('is replaced on its page once its call is no longer known', async () => {
    const { status, text } = await page.get(part('unknown'), { 'hx-request': 'true' });
    assert.equal(status, 200, 'htmx shows errors elsewhere');
    assert.match(text, /^<div id="run"><p[^>]*>This call is no longer known/);
  });

  test('has a form id of its own in each call, so that a browser keeps no text of another call', async () => {
    const ids = new Set<string | undefined>();
    for (const message of ['one?', 'another?']) {
      const { run, text } = await call('ask', question(message));
      ids.add(/<form class="question" id="([^"]+)"/.exec(text)?.[1]);
      await page.post(`/dashboard/actions/run-cancel/${run}`);
      await shows(run, /cancelled/);
    }
    assert.equal(ids.size, 2);
    assert.ok(!ids.has(undefined));
  });
});

describe('the form of a tool', () => {
  const path = '/dashboard/servers/calendar/tool?name=create_event';

  test('has a field for each argument, and one for all of them as JSON', async () => {
    const { text } = await page.get(path);
    assert.match(text, /<input id="arg\.title" name="arg\.title"[^>]* required type="text"/);
    assert.match(text, /<input id="arg\.attendees"[^>]* type="number" step="1"/);
    assert.match(text, /<select id="arg\.room"[\s\S]*?<option>Garden<\/option>/);
    assert.match(text, /<select id="arg\.remind"[\s\S]*?<option>true<\/option>/);
    assert.match(text, /<textarea id="arg\.agenda"/);
    assert.match(text, /<textarea id="json"/);
  });

  test('calls the tool with the values of its fields', async () => {
    const form = {
      'arg.title': hostile,
      'arg.attendees': '4',
      'arg.room': 'Garden',
      'arg.remind': 'false',
      'arg.agenda': '["tea"]',
      json: '',
    };
    const { status, text } = await page.post(path, form, { 'hx-request': 'true' });
    assert.equal(status, 200);
    assert.match(text, /badge good">ok/);
    const given = { title: hostile, attendees: 4, room: 'Garden', remind: false, agenda: ['tea'] };
    const [, said = ''] = /aria-label="Text">([^<]*)</.exec(text) ?? [];
    const plain = said
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>');
    assert.deepEqual(JSON.parse(plain), given);
  });

  test('uses JSON instead of the fields, and without JavaScript shows page, fields and result', async () => {
    const json = '{"title":"Tea","room":"Kitchen"}';
    const { status, text } = await page.post(path, { 'arg.title': 'Coffee', json });
    assert.equal(status, 200);
    assert.match(text, /<h1>create_event<\/h1>/);
    assert.match(text, /id="arg\.title"[^>]* value="Coffee"/);
    assert.match(
      text,
      /aria-label="Text">\{\s*&quot;title&quot;: &quot;Tea&quot;,\s*&quot;room&quot;: &quot;Kitchen&quot;\s*\}</,
    );
  });

  test('sends whole numbers above 2^53 as they are written, also again', async () => {
    const id = '9007199254740993';
    const sent = { 'arg.title': 'a', 'arg.room': 'Garden', 'arg.attendees': id };
    const json = `{"title":"a","room":"Garden","attendees":${id}}`;
    const written = { ...sent, 'arg.attendees': `+0${id}` };
    for (const form of [{ ...sent, 'arg.agenda': `[${id}]` }, written, { json }]) {
      const { text } = await page.post(path, form);
      assert.match(
        hub.activity.find(lastId())?.request?.text ?? '',
        new RegExp(`"attendees":${id}\\b`),
      );
      assert.match(text, new RegExp(`name="json" value="[^"]*&quot;attendees&quot;:${id}\\b`));
      const shown = await page.get(`/dashboard/activity/${lastId()}`);
      assert.match(shown.text, new RegExp(`&quot;attendees&quot;: ${id}\\b`));
      const again = await page.get(`${path}&from=${lastId()}`);
      assert.match(again.text, new RegExp(`id="arg\\.attendees"[^>]* value="${id}"`));
    }
  });

  test('shows an earlier call again as JSON, if a field would change one of its arguments', async () => {
    const json = '{"title":"","room":"Attic"}';
    await page.post(path, { json });
    const { text } = await page.get(`${path}&from=${lastId()}`);
    assert.match(text, /<form [^>]*id="tool-form"[^>]* novalidate>/, 'its fields may be empty');
    assert.match(text, /<textarea id="json"[^>]*>\{\n {2}&quot;title&quot;: &quot;&quot;,/);
    assert.doesNotMatch((await page.get(path)).text, /novalidate>/);
  });

  test('names the invalid field, and calls nothing', async () => {
    const before = lastId();
    const rows: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
      [{ 'arg.title': '' }, /title: is missing/],
      [
        { 'arg.title': 'a', 'arg.room': 'Garden', 'arg.attendees': '1.5' },
        /attendees: &quot;1\.5&quot; is not an integer: write a whole number, such as 3/,
      ],
      [
        { 'arg.title': 'a', 'arg.room': 'Garden', 'arg.attendees': ' ' },
        /attendees: &quot; &quot; is not an integer: write a whole number, such as 3/,
      ],
      [
        { 'arg.title': 'a', 'arg.room': 'Garden', 'arg.remind': 'maybe' },
        /remind: &quot;maybe&quot; is not a boolean: write true or false/,
      ],
      [{ 'arg.title': 'a', 'arg.room': 'Garden', 'arg.agenda': '[' }, /agenda: is not JSON/],
      [{ json: '[1]' }, /the arguments: write an object/],
      [{ json: '9007199254740993' }, /the arguments: write an object/],
      [{ json: '{' }, /the arguments: is not JSON/],
    ];
    for (const [form, problem] of rows) {
      const { status, text } = await page.post(path, form);
      assert.equal(status, 400, text);
      assert.match(text, problem);
    }
    assert.equal(lastId(), before);
  });

  test('refuses a form that is too long, and names the limit', async () => {
    const { status, text } = await page.post(path, { 'arg.title': 'a'.repeat(2 ** 20) });
    assert.equal(status, 413);
    assert.match(text, /The form is larger than the hub takes: 1048576 bytes/);
  });

  test('shows an error that the tool reports', async () => {
    const { text } = await page.post('/dashboard/servers/calendar/tool?name=cancel_event', {
      'arg.title': 'Tea',
    });
    assert.match(text, /badge warn">tool error/);
  });
});

const kindOf = (schema: unknown) => fieldsOf({ type: 'object', properties: { it: schema } })?.[0];

describe('the fields of a tool', () => {
  const rows: readonly (readonly [schema: unknown, kind: string])[] = [
    [{ type: 'string' }, 'text'],
    [{ type: 'string', format: 'date' }, 'text'],
    [{ type: 'number' }, 'number'],
    [{ type: 'integer', minimum: 1 }, 'integer'],
    [{ type: 'boolean' }, 'boolean'],
    [{ type: 'string', enum: ['a', 'b'] }, 'choice'],
    [{ enum: ['a', 'b'] }, 'choice'],
    [{ type: 'integer', enum: [1, 2] }, 'json'],
    [{ enum: ['a', 1] }, 'json'],
    [{ type: 'string', enum: [] }, 'json'],
    [{ type: 'array', items: { type: 'string' } }, 'lines'],
    [{ type: 'array', items: { type: 'boolean' } }, 'json'],
    [{ type: 'array' }, 'json'],
    [{ type: 'array', items: { type: 'object', properties: { a: {} } } }, 'list'],
    [{ type: 'object' }, 'json'],
    [{ type: 'object', properties: { a: {} } }, 'object'],
    [{ type: 'object', properties: { 'a.b': {} } }, 'json'],
    [{ type: 'object', properties: { a: {} }, oneOf: [{}] }, 'json'],
    [{ type: ['string', 'null'] }, 'text'],
    [{ type: ['string', 'integer'] }, 'json'],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'integer'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'json'],
    [{ $ref: '#/$defs/absent' }, 'json'],
    [true, 'json'],
    [{}, 'json'],
  ];
  for (const [schema, kind] of rows)
    test(`for ${JSON.stringify(schema)} are ${kind}`, () => {
      assert.equal(kindOf(schema)?.kind, kind);
    });

  test('show which are required, their descriptions, and their defaults', () => {
    const fields = fieldsOf({
      type: 'object',
      properties: {
        title: { type: 'string', description: 'What it is about.', default: 'Tea' },
        count: { type: 'integer', default: 3 },
        tags: { type: 'array', default: ['a'] },
      },
      required: ['title'],
    });
    assert.deepEqual(
      fields?.map(({ name, isRequired, description, initial }) => [
        name,
        isRequired,
        description,
        initial,
      ]),
      [
        ['title', true, 'What it is about.', 'Tea'],
        ['count', false, undefined, '3'],
        ['tags', false, undefined, '["a"]'],
      ],
    );
  });

  test('are none for a schema without arguments', () => {
    assert.deepEqual(fieldsOf({ type: 'object' }), []);
    assert.deepEqual(fieldsOf({}), []);
  });

  test('are unknown for a schema that does not list its properties', () => {
    const many = Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`a${at}`, {}]));
    for (const schema of [
      undefined,
      'text',
      { type: 'array' },
      { type: 'object', oneOf: [{}] },
      { $ref: '#/$defs/it' },
      { type: 'object', properties: 'none' },
      { type: 'object', properties: many },
    ])
      assert.equal(fieldsOf(schema), undefined, JSON.stringify(schema));
  });
});

test.for(['constructor', '__proto__'])(
  'a required argument %s counts as missing if it is empty',
  name => {
    const properties = JSON.parse(`{"${name}":{"type":"string"}}`);
    const fields = fieldsOf({ type: 'object', properties, required: [name] });
    assert.throws(() => argumentsOf(fields, new Map()), {
      code: 'HUB_REQUEST_INVALID',
      message: `${name}: is missing: fill in the field`,
    });
    const args = argumentsOf(fields, new Map([[`arg.${name}`, 'given']]));
    assert.equal(JSON.stringify(args), `{"${name}":"given"}`);
  },
);

describe('arguments of an earlier call', () => {
  const schema = {
    type: 'object',
    properties: {
      text: { type: 'string' },
      'a b': { type: 'string', description: 'Two words.' },
      kind: { enum: ['a', 'b'] },
      count: { type: 'integer' },
      isOn: { type: 'boolean' },
      any: {},
      lines: { type: 'array', items: { type: 'string' } },
      numbers: { type: 'array', items: { type: 'number' } },
      group: { type: 'object', properties: { x: { type: 'string' } } },
      list: { type: 'array', items: { type: 'object', properties: { x: { type: 'string' } } } },
    },
  };
  const fields = fieldsOf(schema);

  test.each([
    { text: 'one\n-- two', 'a b': 'c', kind: 'b', count: 3, isOn: false, any: [1, null] },
    { lines: ['a', 'b'], numbers: [1, 2.5], group: { x: 'y' }, list: [{ x: 'y' }, { x: 'z' }] },
    { lines: ['a\r', '', '[b'], numbers: ['1'], list: [{ x: 'y' }] },
    { lines: [] },
    {},
  ])('%j are shown in fields, and the form returns them', args => {
    const values = valuesFor(fields, args);
    assert.ok(!values.has('json'));
    assert.deepEqual(argumentsOf(fields, values), args);
  });

  test.each<Parameters<typeof valuesFor>[1]>([
    { text: '' },
    { text: null },
    { text: 5 },
    { text: 'a\r\nb' },
    { kind: 'c' },
    { count: '3' },
    { count: 1.5 },
    { isOn: 'yes' },
    { group: {} },
    { list: [{}] },
    { other: 1 },
  ])('%j are shown as JSON, as no field returns them', args => {
    const values = valuesFor(fields, args);
    assert.deepEqual([...values.keys()], ['json']);
    assert.deepEqual(argumentsOf(fields, values), args);
  });
});
