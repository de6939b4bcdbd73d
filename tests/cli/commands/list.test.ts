import assert from 'node:assert/strict';
import { stripVTControlCharacters } from 'node:util';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { fieldOf, jsonOf, openOther, withHub } from '../hub.ts';

const { cli } = withHub();

describe('list', () => {
  test('has a line for each server', async () => {
    const { code, out } = await cli(['list']);
    const [head = '', ...lines] = out.split('\n');
    assert.equal(code, 0);
    assert.match(head, /^NAME +STATE +TOOLS +RESTARTS +UPTIME +NOTE$/);
    assert.match(lines[0] ?? '', /^echo +running +17 +0 +\d+s$/);
    assert.match(lines[1] ?? '', /^calendar +running +3 +0 +\d+s$/);
  });

  test('--json is what the API answers', async () => {
    const { out } = await cli(['list', '--json']);
    const answer = jsonOf(out);
    assert.ok(isObject(answer) && Array.isArray(answer['servers']));
    assert.deepEqual(
      answer['servers'].map(server => fieldOf(server, 'name')),
      ['echo', 'calendar'],
    );
    assert.deepEqual(answer['collisions'], []);
  });

  test('--tools names the tools as clients call them, and --json describes them', async () => {
    const { out } = await cli(['list', '--tools']);
    assert.match(out, /^calendar_list_events +Lists the events of this week\.$/m);
    const answer = jsonOf((await cli(['list', '--tools', '--json'])).out);
    const tools = fieldOf(answer, 'tools');
    assert.ok(Array.isArray(tools) && tools.length === 20);
    assert.ok(isObject(fieldOf(tools[0], 'inputSchema')));
  });

  test('--tokens adds the tokens of the tools of each server, and with --tools those of each tool', async () => {
    const { out } = await cli(['list', '--tokens']);
    const [head = '', echo = '', calendar = '', all = ''] = out.split('\n');
    assert.match(head, /^NAME +STATE +TOOLS +TOKENS +RESTARTS +UPTIME +NOTE$/);
    const cost = (line: string) => Number(/running +\d+ +(\d+)/.exec(line)?.[1]);
    assert.ok(cost(echo) > cost(calendar) && cost(calendar) > 10, out);
    assert.equal(all, `All tools that are on: ${cost(echo) + cost(calendar)} tokens`);
    const each = (await cli(['list', '--tools', '--tokens'])).out.split('\n').slice(1);
    const counts = each.map(line => Number(/(\d+)(?: tokens)?$/.exec(line)?.[1]));
    const [sum, ...tools] = counts.toReversed();
    assert.equal(
      sum,
      tools.reduce((total, count) => total + count, 0),
    );
    assert.deepEqual(
      tools,
      tools.toSorted((a, b) => a - b),
    );
    const json = jsonOf((await cli(['list', '--tokens', '--json'])).out);
    assert.equal(fieldOf(json, 'tokens'), sum);
  });

  test('says that a change of the config is not applied, and why', async () => {
    const server = { name: 'memory', state: 'running', tools: 1, restart_count: 0 };
    const detail = 'the last good one is in force: /hub.json:1:1: serverz: unknown key';
    const config = { state: 'degraded', backend: 'files', detail };
    const body = JSON.stringify({ servers: [server], parts: { config } });
    await using other = await openOther(200, body);
    const { code, out, err } = await cli(['list', '--url', other.url]);
    assert.equal(code, 0);
    assert.match(out, /^memory +running/m);
    assert.equal(err, `warning: config: ${detail}`);
    assert.equal((await cli(['list'])).err, '');
  });

  test('no line is longer than the terminal is wide', async () => {
    const { out } = await cli(['list', '--tools'], { columns: 40 });
    assert.ok(out.includes('…'));
    for (const line of stripVTControlCharacters(out).split('\n')) assert.ok(line.length <= 40);
  });

  test('shows a part of each column on a terminal of 60 columns', async () => {
    const servers = [
      { name: 'a-server-with-a-very-long-name', state: 'unreachable', why: 'nothing answers' },
      { name: 'memory', state: 'failed', why: 'a variable is not set' },
    ].map(server => ({ tools: 0, restart_count: 0, ...server }));
    await using other = await openOther(200, JSON.stringify({ servers }));
    const { out } = await cli(['list', '--url', other.url], { columns: 60 });
    assert.deepEqual(stripVTControlCharacters(out).split('\n'), [
      'NAME          STATE        TOOLS  RESTARTS  UPTIME  NOTE',
      'a-server-wi…  unreachable  0      0                 nothing…',
      'memory        failed       0      0                 a varia…',
    ]);
  });

  test('has a note for each state of a server', async () => {
    const servers = [
      { state: 'running', waiting: 'its entry waits', enabled: false },
      { state: 'stopped', enabled: false },
      { state: 'starting', progress: 'its image is built' },
      { state: 'stopped', stopped_by_hand: true },
      { state: 'stopped', stopped_by_hand: false },
      { state: 'running', refused_entry: { message: 'the new entry is refused' } },
      { state: 'running' },
      { state: 'failed', why: 'it\n exits\u0007' },
      { state: 'unreachable' },
    ].map(server => ({ name: 'x', tools: 0, restart_count: 0, ...server }));
    await using other = await openOther(200, JSON.stringify({ servers }));
    const { out } = await cli(['list', '--url', other.url], { columns: 100 });
    const lines = stripVTControlCharacters(out).split('\n').slice(1);
    assert.deepEqual(
      lines.map(line => line.split(/ {2,}/).slice(4).join('')),
      [
        'its entry waits',
        'disabled',
        'its image is built',
        'stopped by hand',
        'starts at the first call',
        'the new entry is refused',
        '',
        'it exits',
        '',
      ],
    );
  });
});
