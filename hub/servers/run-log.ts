import type { SourceLog } from '#logs';
import type { Instance } from '#runtimes';
import type { LaunchKind } from './handshake/launch-in-era.ts';
import type { ServerStatus } from './server-types.ts';

/**
 * Logs what a server and the hub say about the server's runs. `own` names an instance of a session, whose lines belong
 * to the newest run of the server.
 */
export function createRunLog(log: SourceLog | undefined, own: string | undefined) {
  const instance = own === undefined ? {} : { instance: own };
  /** The last reason of a failure, so that retries do not log it again. */
  let said: string | undefined;
  let isLaunched = false;
  /** Instances of the current launch and their successors that have not exited, the oldest first. */
  let open: object[] = [];

  function say(text: string): void {
    if (text === said) return;
    said = text;
    log?.add({ text, isHubs: true, ...instance });
  }

  return {
    wrote: (text: string): void => log?.add({ text, ...instance }),
    progress: say,
    launching(how: LaunchKind): void {
      if (own !== undefined) return;
      said = undefined;
      isLaunched = true;
      open = [];
      if (how === 'new') log?.begin();
      else log?.resume();
    },
    opened(instance: Pick<Instance, 'exited'>): void {
      if (own !== undefined) return;
      // The instance was not announced by `launching`: a successor, launched beside the instance that it replaces.
      if (!isLaunched) log?.begin();
      isLaunched = false;
      open.push(instance);
      void instance.exited.then(({ lost, detail }) => {
        const isNewest = open.at(-1) === instance;
        open = open.filter(other => other !== instance);
        if (lost === true || !isNewest) return;
        log?.end(detail);
        // The successor did not start: the instance that it was to replace keeps running.
        if (open.length > 0) log?.begin();
      });
    },
    changed(status: ServerStatus): void {
      // Only the first line: the output of a failed build has been logged line by line.
      if ('why' in status) say(status.why.split('\n', 1)[0] ?? '');
    },
  };
}
