import { expect, test } from 'vitest';
import { createEmitter } from '#core';
import { createBodyOnDemand } from '../../../hub/agents/host/body-on-demand.ts';

/** Creates a body on demand, and records the bodies that are created for it. */
function open() {
  const told: string[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  let made = 0;
  const body = createBodyOnDemand(() => {
    const number = ++made;
    const changed = createEmitter<undefined>();
    let containerId: string | undefined;
    const become = (id: string | undefined) => {
      containerId = id;
      changed.fire(undefined);
    };
    return {
      get containerId() {
        return containerId;
      },
      get existing() {
        return containerId;
      },
      changed: changed.event,
      async ready() {
        become(`c${number}`);
        return `c${number}`;
      },
      adopt: async () => false,
      async call(tool) {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        await gate.promise;
        return { tool };
      },
      stop: async () => become(undefined),
      discard: async () => void told.push(`discarded ${number}`),
    };
  });
  return { body, told, gates, made: () => made };
}

const never = new AbortController().signal;

test('the container of an agent is created at its first use, and discarded after a stop', async () => {
  const { body, told, made } = open();
  const changes: (string | undefined)[] = [];
  body.changed(() => void changes.push(body.containerId));
  await body.stop();
  expect([made(), body.containerId]).toEqual([0, undefined]);
  expect(await body.ready(never)).toBe('c1');
  await body.stop();
  expect(told).toEqual(['discarded 1']);
  expect(await body.ready(never)).toBe('c2');
  expect(changes).toEqual(['c1', undefined, 'c2']);
});

test('a container is kept while a call uses it', async () => {
  const { body, told, gates } = open();
  await body.ready(never);
  const call = body.call('chat', {}, 1_000);
  await body.stop();
  expect(told).toEqual([]);
  gates[0]?.resolve();
  expect(await call).toEqual({ tool: 'chat' });
  await body.stop();
  expect(told).toEqual(['discarded 1']);
});

test('a container is discarded when none of an earlier run can be adopted, and with its agent', async () => {
  const { body, told } = open();
  expect(await body.adopt()).toBe(false);
  expect(told).toEqual(['discarded 1']);
  await body.ready(never);
  await body.discard();
  expect(told).toEqual(['discarded 1', 'discarded 2']);
  await body.discard();
  expect(told).toHaveLength(2);
});
