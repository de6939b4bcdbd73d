import { fileURLToPath } from 'node:url';
import { systemClock } from '#core';
import { createProcessRuntime } from '#runtimes/process';
import { channelContract } from '../../contracts/channel.ts';

const program = fileURLToPath(new URL('obedient-process.ts', import.meta.url));

channelContract({
  name: 'the pipes of a process',
  joins: true,
  async open(bounds) {
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const runtime = createProcessRuntime(
      { environment: {}, platform: process.platform },
      { clock: systemClock },
    );
    const instance = await runtime.launch(
      {
        server: 'tested',
        target: { kind: 'process', command: process.execPath, args: [program] },
        env: {},
        ...bounds,
      },
      { stderr: line => line === 'answered' && resolve(), progress() {} },
      new AbortController().signal,
    );
    return { channel: instance.channel, answered, stop: () => instance.stop({ graceMs: 1000 }) };
  },
});
