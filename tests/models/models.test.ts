import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '../contracts/recorder.ts';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { asking, createGate, kindOf, never, openModels, openStill, recoveryMs } from './scene.ts';

describe('the list of models', () => {
  test('is read once for all who ask, and again after 30 s', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await Promise.all(Array.from({ length: 50 }, () => scene.models.list(never)));
    assert.equal(ollama.received('/api/tags').length, 1);
    scene.clock.advance(29_999);
    await scene.models.find('llama3.2:3b', never);
    assert.equal(ollama.received('/api/tags').length, 1);
    scene.clock.advance(1);
    await scene.models.list(never);
    assert.equal(ollama.received('/api/tags').length, 2);
  });

  test('is none where Ollama was stopped, however young the last one is', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    await ollama.stop();
    assert.equal(await kindOf(scene.models.list(never)), 'unreachable');
    assert.equal(scene.models.status.kind, 'down');
    await ollama.start();
    assert.equal((await scene.models.list(never)).length, 2);
  });

  test('is read on for the others when one gives up, and given up with the last', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const held = Promise.withResolvers<void>();
    ollama.fails('/api/tags', { kind: 'slow', until: held.promise });
    const [first, second] = [new AbortController(), new AbortController()];
    const given = kindOf(scene.models.list(first.signal));
    const waited = scene.models.list(second.signal);
    await until(() => ollama.received('/api/tags').length === 1, 'the request');
    first.abort();
    assert.equal(await given, 'cancelled');
    held.resolve();
    assert.equal((await waited).length, 2);
  });

  test('is asked again for a model that is missing, though not at each call', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.equal(await scene.models.find('phi3:mini', never), undefined);
    ollama.add(modelNamed('phi3:mini'));
    assert.equal(await scene.models.find('phi3:mini', never), undefined);
    assert.equal(ollama.received('/api/tags').length, 1);
    scene.clock.advance(2_000);
    assert.equal((await scene.models.find('phi3:mini', never))?.name, 'phi3:mini');
  });

  test('has models of all names that Ollama would take for them', async () => {
    await using ollama = await startOllama({ models: ['x', 'host:5000/team/y:latest', 'a/b:1'] });
    await using scene = openModels(ollama.url);
    const found = async (name: string) => (await scene.models.find(name, never))?.name;
    assert.equal(await found('x'), 'x:latest');
    assert.equal(await found('X:Latest'), 'x:latest');
    assert.equal(await found('library/x'), 'x:latest');
    assert.equal(await found('registry.ollama.ai/library/x:latest'), 'x:latest');
    assert.equal(await found('a/b:1'), 'a/b:1');
    assert.equal(await found('a/b'), undefined);
    assert.equal(await found('host:5000/team/y'), 'host:5000/team/y:latest');
  });

  test('is that of an Ollama that cannot tell what is in memory, too', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/ps', { kind: 'error', status: 404, error: '404 page not found' });
    const models = await scene.models.list(never);
    assert.deepEqual(
      models.map(({ name, isLoaded, capabilities }) => [name, isLoaded, capabilities]),
      [
        ['llama3.2:3b', false, ['completion', 'tools']],
        ['nomic-embed-text:latest', false, ['embedding']],
      ],
    );
  });
});

describe('what is sent', () => {
  test('is the whole prompt, not to be cut, with options as given and thoughts off', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url, undefined, { keepAlive: '10m' });
    await scene.models.complete(
      asking({ system: 'S', prompt: ' P\n', options: { num_ctx: 512, temperature: 0.5 } }),
      never,
    );
    assert.deepEqual(ollama.received('/api/chat')[0]?.body, {
      model: 'llama3.2:3b',
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: ' P\n' },
      ],
      options: { num_ctx: 512, temperature: 0.5 },
      think: false,
      keep_alive: '10m',
      truncate: false,
      shift: false,
      stream: true,
    });
  });

  test('asks for thoughts where an option says so, and a number stays a number', async () => {
    await using ollama = await startOllama({ models: [] });
    ollama.add(modelNamed('deepseek-r1:14b', { capabilities: ['completion', 'thinking'] }));
    await using scene = openModels(ollama.url, undefined, { keepAlive: '-1' });
    await scene.models.complete(
      asking({ model: 'deepseek-r1:14b', system: undefined, options: { think: true } }),
      never,
    );
    const body = ollama.received('/api/chat')[0]?.body;
    assert.deepEqual([body?.['think'], body?.['keep_alive'], body?.['options']], [true, -1, {}]);
    assert.deepEqual(body?.['messages'], [{ role: 'user', content: 'make it better' }]);
  });

  test('of an embedding is the text, not to be cut', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    await scene.models.embed('nomic-embed-text', 'clustering: text', never);
    assert.deepEqual(ollama.received('/api/embed')[0]?.body, {
      model: 'nomic-embed-text:latest',
      input: 'clustering: text',
      truncate: false,
      keep_alive: '30m',
    });
  });
});

describe('an embedding', () => {
  test('of a text that an Ollama has cut although told not to is too long', async () => {
    await using ollama = await startOllama({ models: [] });
    // The double reports as many tokens as fit, like Ollama 0.12.5.
    ollama.add(modelNamed('embed-small', { contextLength: 300 }));
    await using scene = openModels(ollama.url);
    const fits = await scene.models.embed('embed-small', 'word '.repeat(250), never);
    assert.equal(fits.vector.length, 768);
    assert.equal(
      await kindOf(scene.models.embed('embed-small', 'word '.repeat(300), never)),
      'too_long',
    );
  });
});

describe('the breaker', () => {
  test('opens after three calls without an answer, and closes with one that has one', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    ollama.fails('/api/chat', { kind: 'reset', afterLines: 0 });
    for (let call = 1; call <= 3; call++)
      assert.equal(await kindOf(scene.models.complete(asking(), never)), 'unreachable');
    const asked = ollama.received().length;
    assert.equal(await kindOf(scene.models.complete(asking(), never)), 'breaker_open');
    assert.equal(ollama.received().length, asked);
    ollama.heals();
    await scene.models.list(never);
    const { status } = scene.models;
    assert.ok(status.kind === 'refused', `it is said to be ${status.kind}`);
    assert.match(status.error, /^Ollama failed too often and is tried again in 30 s; the last/);
    scene.clock.advance(recoveryMs);
    assert.equal(scene.models.status.kind, 'up');
    await scene.models.complete(asking(), never);
    assert.equal(scene.breaker.state, 'closed');
  });

  test('opens after three long silences, and not after short ones', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    ollama.fails('/api/chat', { kind: 'hang' });
    const silent = async (firstTokenMs: number) => {
      const before = ollama.received('/api/chat').length;
      const kind = kindOf(scene.models.complete(asking({ firstTokenMs }), never));
      await until(() => ollama.received('/api/chat').length > before, 'the request');
      scene.clock.advance(firstTokenMs);
      return await kind;
    };
    for (let call = 1; call <= 5; call++) assert.equal(await silent(400), 'timeout');
    assert.equal(scene.breaker.state, 'closed');
    for (let call = 1; call <= 3; call++) assert.equal(await silent(5_000), 'timeout');
    assert.equal(scene.breaker.state, 'open');
  });

  test('is not opened by what a model or a request is at fault for', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const error = { kind: 'error', status: 500, error: 'llama runner has terminated' } as const;
    ollama.fails('/api/chat', error);
    for (let call = 1; call <= 5; call++) {
      assert.equal(await kindOf(scene.models.complete(asking(), never)), 'refused');
      assert.equal(await kindOf(scene.models.complete(asking({ model: 'no' }), never)), 'missing');
    }
    assert.equal(scene.breaker.state, 'closed');
  });
});

describe('the status', () => {
  test('is unknown before the start, and told soon after it', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.deepEqual(scene.models.status, { kind: 'unknown' });
    await scene.models.start(never);
    await until(() => scene.models.status.kind === 'up', 'a sign of life');
    assert.deepEqual(scene.models.status, {
      kind: 'up',
      since: scene.clock.now(),
      version: '0.40.1',
      latencyMs: 0,
    });
    assert.deepEqual(
      ollama.received().map(({ path }) => path),
      ['/api/version'],
    );
  });

  test('follows an Ollama that goes and comes, without any call', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.start(never);
    await until(() => scene.models.status.kind === 'up', 'a sign of life');
    await ollama.stop();
    await until(() => scene.clock.waiting === 1, 'the next look to be due');
    scene.clock.advance(30_000);
    await until(() => scene.models.status.kind === 'down', 'none');
    const isRefused = () => {
      const { status } = scene.models;
      assert.ok(status.kind === 'down' && status.failure === 'unreachable');
      return /ECONNREFUSED/.test(status.error);
    };
    // The first request may have used a connection that was just closed; the next cannot.
    if (!isRefused()) {
      await until(() => scene.clock.waiting === 1, 'the next look to be due');
      scene.clock.advance(30_000);
      await until(isRefused, 'a refusal');
    }
    await ollama.start();
    await until(() => scene.clock.waiting === 1, 'the next look to be due');
    scene.clock.advance(30_000);
    await until(() => scene.models.status.kind === 'up', 'a sign of life');
    await scene.models.stop();
    assert.equal(scene.clock.waiting, 0);
  });

  test('is down when a call finds nobody, and what is no Ollama is down as well', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/version', { kind: 'html', status: 200 });
    assert.equal(await kindOf(scene.models.list(never)), 'malformed');
    const { status } = scene.models;
    assert.ok(status.kind === 'down' && status.failure === 'malformed');
    ollama.heals();
    ollama.fails('/api/version', { kind: 'html', status: 502 });
    assert.equal(await kindOf(scene.models.list(never)), 'unreachable');
    ollama.heals();
    await scene.models.list(never);
    assert.equal(scene.models.status.kind, 'up');
    ollama.fails('/api/chat', { kind: 'reset', afterLines: 0 });
    assert.equal(await kindOf(scene.models.complete(asking(), never)), 'unreachable');
    assert.equal(scene.models.status.kind, 'down');
  });

  test('of many calls at once is asked for once', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const calls = Array.from({ length: 100 }, () => scene.models.complete(asking(), never));
    await Promise.all(calls);
    assert.equal(ollama.received('/api/version').length, 1);
    assert.equal(ollama.received('/api/chat').length, 100);
  });
});

describe('a pull', () => {
  test('tells its progress, and the model is there after it', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.equal(await scene.models.find('phi3:mini', never), undefined);
    const told: string[] = [];
    await scene.models.pull(
      'phi3:mini',
      ({ status, totalBytes, completedBytes }) =>
        void told.push(`${status.slice(0, 16)} ${completedBytes}/${totalBytes}`),
      never,
    );
    assert.equal(told[0], 'pulling manifest undefined/undefined');
    assert.ok(told.some(line => line.endsWith('1009696594/2019393189')));
    assert.equal(told.at(-1), 'success undefined/undefined');
    assert.equal((await scene.models.find('phi3:mini', never))?.name, 'phi3:mini');
  });

  test('is joined where it is under way, and goes on while anybody waits', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const held = Promise.withResolvers<void>();
    ollama.fails('/api/pull', { kind: 'slow', until: held.promise });
    const [first, second] = [new AbortController(), new AbortController()];
    const told: string[] = [];
    const given = kindOf(scene.models.pull('phi3:mini', () => {}, first.signal));
    const waited = scene.models.pull(
      'phi3:mini',
      ({ status }) => void told.push(status),
      second.signal,
    );
    await until(() => ollama.received('/api/pull').length === 1, 'the request');
    first.abort();
    assert.equal(await given, 'cancelled');
    held.resolve();
    await waited;
    assert.equal(ollama.received('/api/pull').length, 1);
    assert.equal(told.at(-1), 'success');
  });

  test('is given up with the last who waits for it', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 }, 1);
    const controller = new AbortController();
    const both = [1, 2].map(
      async () => await kindOf(scene.models.pull('phi3:mini', () => {}, controller.signal)),
    );
    await until(() => ollama.received('/api/pull').length === 1, 'the request');
    controller.abort();
    assert.deepEqual(await Promise.all(both), ['cancelled', 'cancelled']);
    await until(() => ollama.received('/api/pull')[0]?.isAbandoned === true, 'a free Ollama');
    await scene.models.pull('phi3:mini', () => {}, never);
  });

  test('of a model that nobody has is missing, and one that stalls ends', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.equal(await kindOf(scene.models.pull('nothing', () => {}, never)), 'missing');
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 }, 1);
    const told: string[] = [];
    const stalled = kindOf(
      scene.models.pull('phi3:mini', ({ status }) => void told.push(status), never),
    );
    await until(() => told.length === 2, 'progress');
    scene.clock.advance(120_000);
    assert.equal(await stalled, 'timeout');
    assert.equal(scene.breaker.snapshot().failures, 0);
  });

  test('that goes on may take as long as it does', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    const gate = createGate();
    ollama.fails('/api/pull', { kind: 'paced', before: gate.before });
    const goOn = () => {
      scene.clock.advance(119_000);
      gate.open();
    };
    await scene.models.pull('phi3:mini', goOn, never);
  });

  test('of a fifth model waits for nobody', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/pull', { kind: 'hang' });
    const controller = new AbortController();
    const four = ['a', 'b', 'c', 'd'].map(
      async name => await kindOf(scene.models.pull(name, () => {}, controller.signal)),
    );
    await until(() => ollama.received('/api/pull').length === 4, 'four pulls');
    assert.equal(await kindOf(scene.models.pull('e', () => {}, never)), 'busy');
    controller.abort();
    assert.deepEqual(await Promise.all(four), Array(4).fill('cancelled'));
  });
});

describe('warming up', () => {
  test('has models in memory before they are asked, with the options of the calls to come', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    scene.models.warmUp('llama3.2:3b', { num_ctx: 2048 });
    scene.models.warmUp('llama3.2:3b', { num_ctx: 2048 });
    scene.models.warmUp('nomic-embed-text');
    const isThere = () => ollama.isLoaded('llama3.2:3b') && ollama.isLoaded('nomic-embed-text');
    await until(isThere, 'both models in memory');
    const [body, ...more] = ollama.received('/api/chat').map(request => request.body);
    assert.deepEqual(more, []);
    assert.deepEqual(
      [body?.['messages'], body?.['options'], body?.['keep_alive']],
      [[], { num_ctx: 2048 }, '30m'],
    );
  });

  test('says nothing of it that fails, and ends with the hub', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang' });
    scene.models.warmUp('no-such-model');
    scene.models.warmUp('llama3.2:3b');
    await until(() => ollama.received('/api/chat').length === 1, 'the request');
    await scene.models.stop();
    await until(() => ollama.received('/api/chat')[0]?.isAbandoned === true, 'a free Ollama');
    scene.models.warmUp('nomic-embed-text');
    assert.equal(ollama.received('/api/embed').length, 0);
  });
});
