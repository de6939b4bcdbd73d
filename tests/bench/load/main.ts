// The load generator: a separate process for each subject, so that they do not affect each other. Its parent sends a
// target once, then jobs, and gets an outcome for each.
import { wayOverAttach, wayOverPipe } from './direct.ts';
import { type Job, type Target, type Way, hasId, isReply } from './job.ts';
import { wayOverHttp, wayOverList, wayOverMcp } from './over-http.ts';
import { runJob } from './run.ts';

type Order = { readonly target: Target } | { readonly job: Job };

let way: Way | undefined;
let isRight = isReply;

async function connectTo(target: Target): Promise<Way> {
  switch (target.kind) {
    case 'mcp':
      return await wayOverMcp(target);
    case 'list':
      // The reply contains the id, so its length varies with that of the id.
      isRight = (reply, id) =>
        hasId(reply, id) && reply.length === target.bytes + String(id).length;
      return await wayOverList(target.url);
    case 'http':
      // The server always sends the same answer, without the id of the request.
      isRight = reply => reply.length === target.bytes;
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
