import { expect, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import type { ToolStates } from '#tools';
import { createToolCosts } from '../../hub/dashboard/tool-costs.ts';

const stateOf = (isEnabled: boolean): ToolStates => {
  const tool = { name: 'a', publicName: 's_a', isEnabled, isHeld: false, tokens: 1 };
  return { server: 's', tokens: 1, tools: [{ ...tool, hiddenBy: undefined }] };
};

test('states that were being read when a tool was switched are not shown', async () => {
  const reads: PromiseWithResolvers<readonly ToolStates[]>[] = [];
  const costs = createToolCosts({
    tools: {
      list() {
        const read = Promise.withResolvers<readonly ToolStates[]>();
        reads.push(read);
        return read.promise;
      },
    },
    clock: createManualClock(),
    log: createRecordingLog().log,
    counted() {},
  });
  const before = costs.get();
  costs.forget();
  const after = costs.get();
  reads[0]?.resolve([stateOf(true)]);
  await before;
  reads[1]?.resolve([stateOf(false)]);
  expect((await after).get('s')).toEqual(stateOf(false));
  expect((await costs.get()).get('s')).toEqual(stateOf(false));
});
