// The load generator: a process of its own for each subject, so that none pays for another. Its parent
// sends a target once, then jobs, and gets an outcome for each.
import { wayOverAttach, wayOverPipe } from './direct.ts';
import { type Job, type Target, type Way, isReply } from './job.ts';
import { wayOverHttp, wayOverMcp } from './over-http.ts';
import { runJob } from './run.ts';

type Order = { readonly target: Target } | { readonly job: Job };

let way: Way | undefined;
let isRight = isReply;

async function connectTo(target: Target): Promise<Way> {
  switch (target.kind) {
    case 'mcp':
      return await wayOverMcp(target.url, target.tool);
    case 'http':
      // It answers 500 bytes and no id.
      isRight = reply => reply.length === 500;
      return wayOverHttp(target.url);
    case 'process':
      return wayOverPipe(target.serverFile);
    case 'container':
      return await wayOverAttach(target.id);
  }
}

async function obey(order: Order): Promise<unknown> {
  if ('target' in order) {
    way = await connectTo(order.target);
    return 'connected';
  }
  if (!way) throw new Error('a job came before a target');
  const { call, end } = await way.begin(order.job.concurrency);
  try {
    return await runJob(order.job, call, isRight);
  } finally {
    end();
  }
}

process.on('message', (order: Order) => {
  obey(order).then(
    outcome => process.send?.(outcome),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
