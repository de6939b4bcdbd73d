import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/** Ends the process groups of servers when the hub has ended without a word, as by SIGKILL. */
export interface Watcher {
  /** The group that this process leads ends with the hub, until that is disposed. */
  watch(leader: number): Disposable;
}

/**
 * A shell, as the hub cannot do anything any more: its input ends when the hub does, however that is. It has
 * been told the groups by then, and leaves them the time of an ordinary stop: they see the end of their input
 * too, get SIGTERM after two seconds and SIGKILL after five. One that has ended is looked at no more, so that
 * none is taken for it that gets its number.
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
/** What the shell is called in lists of processes. */
const shellName = 'agenthub-watcher';

/**
 * For POSIX. The shell is there while there is something to watch. Where there is none, servers see the end of
 * their input alone.
 */
export function createWatcher(path: string | undefined): Watcher {
  const leaders = new Set<number>();
  let input: Writable | undefined;

  function open(): void {
    const shell = spawn('/bin/sh', ['-c', script, shellName], {
      // It holds no folder, and is not ended by what ends the hub from its terminal.
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
    watch(leader) {
      leaders.add(leader);
      if (input) input.write(`+ ${leader}\n`);
      else {
        try {
          open();
        } catch {
          // Such as no memory for a process more: the server runs all the same.
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
