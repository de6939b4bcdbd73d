import { channelContract } from '../../contracts/channel.ts';
import { call } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { startObedientServer } from './obedient-server.ts';

channelContract({
  name: 'streamable HTTP',
  joins: false,
  async open(bounds) {
    const server = await startObedientServer('http');
    const instance = await launchRemote(server.url, bounds);
    instance.channel.send(call(0, 'initialize'));
    instance.channel.send(call(undefined, 'notifications/initialized'));
    await server.streamed;
    return {
      channel: instance.channel,
      answered: server.answered,
      async stop() {
        await instance.stop({ graceMs: 1000 });
        await server.stop();
      },
    };
  },
});

channelContract({
  name: 'HTTP with SSE',
  joins: false,
  async open(bounds) {
    const server = await startObedientServer('sse');
    const instance = await launchRemote(server.url, { ...bounds, transport: 'sse' });
    return {
      channel: instance.channel,
      answered: server.answered,
      async stop() {
        await instance.stop({ graceMs: 1000 });
        await server.stop();
      },
    };
  },
});
