import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * Shell script that outlives the hub. The hub writes process groups to its input, which ends when the hub dies for any
 * reason. The groups then get the time of an ordinary stop: their input has ended, SIGTERM follows after two seconds
 * and SIGKILL after five. A group that has exited is not checked again, because its id may be reused.
 */
const script = `
trap '' HUP INT TERM
groups=
while read -r sign leader; do
  kept=
  for one in $groups; do [ "$one" = "$leader" ] || kept="$kept $one"; done
  groups=$kept
  [ "$sign" = + ] && groups="$groups $leader"
done
second=0
while
  kept=
  for one in $groups; do kill -s 0 -- "-$one" && kept="$kept $one"; done
  groups=$kept
  [ -n "$groups" ] && [ $second -le 5 ]
do
  [ $second -eq 2 ] && for one in $groups; do kill -s TERM -- "-$one"; done
  [ $second -eq 5 ] && for one in $groups; do kill -s KILL -- "-$one"; done
  sleep 1
  second=$((second + 1))
done
`;
const shellName = 'agenthub-watcher';

export type Watcher = ReturnType<typeof createWatcher>;

/**
 * Ends the process groups of servers after the hub was killed. For POSIX. The shell runs while a group is watched.
 * Without the watcher, servers only see the end of their input.
 */
export function createWatcher(path: string | undefined) {
  const leaders = new Set<number>();
  let input: Writable | undefined;

  function open(): void {
    const shell = spawn('/bin/sh', ['-c', script, shellName], {
      // The shell must not block a folder (cwd), nor get the signals of the hub's terminal (detached).
      cwd: '/',
      detached: true,
      env: path === undefined ? {} : { PATH: path },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const { stdin } = shell;
    const over = () => {
      if (input === stdin) input = undefined;
    };
    shell.on('error', over);
    shell.on('exit', over);
    stdin.on('error', over);
    shell.unref();
    input = stdin;
    for (const leader of leaders) stdin.write(`+ ${leader}\n`);
  }

  return {
    /** Watches the group of this process until the result is disposed. */
    watch(leader: number): Disposable {
      leaders.add(leader);
      if (input) input.write(`+ ${leader}\n`);
      else {
        try {
          open();
        } catch {
          // For example, the machine is out of memory. The server works without the watcher.
        }
      }
      return {
        [Symbol.dispose]() {
          leaders.delete(leader);
          if (leaders.size > 0) input?.write(`- ${leader}\n`);
          else {
            input?.end();
            input = undefined;
          }
        },
      };
    },
  };
}
