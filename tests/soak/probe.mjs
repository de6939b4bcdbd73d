// Loaded into a hub under test (--import): at SIGUSR2 it collects garbage and writes what it holds to the
// file that PROBE_FILE names. Where PROBE_SNAPSHOTS names a folder, it leaves a heap snapshot there as well.
import { readFileSync, readdirSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString, writeHeapSnapshot } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const { PROBE_FILE: file, PROBE_SNAPSHOTS: snapshots } = process.env;
let reports = 0;

process.on('SIGUSR2', () => void report());

async function report() {
  // What is freed by finalizers is collected in the next round.
  for (let round = 0; round < 4; round++) {
    collect();
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const held = { heap: heapUsed + arrayBuffers, rss, descriptors: descriptors() };
  if (snapshots) writeHeapSnapshot(join(snapshots, `${++reports}.heapsnapshot`));
  writeFileSync(`${file}.new`, JSON.stringify(held));
  renameSync(`${file}.new`, file);
}

/** What each open descriptor is: a path, or a kind, sockets with the path or the ports they are bound to. */
function descriptors() {
  const sockets = new Map([...rows('unix', 6, 7), ...rows('tcp', 9, 2), ...rows('tcp6', 9, 2)]);
  return readdirSync('/proc/self/fd')
    .flatMap(number => {
      try {
        const link = readlinkSync(`/proc/self/fd/${number}`);
        const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
        return inode ? `socket ${sockets.get(inode) ?? ''}`.trim() : link.replace(/:\[\d+\]$/, '');
      } catch {
        // That of the folder which is being read.
        return [];
      }
    })
    .sort();
}

/** The column `what` of each row of a table of /proc/net, by the inode in another column. */
function rows(table, inode, what) {
  return readFileSync(`/proc/net/${table}`, 'utf8')
    .split('\n')
    .slice(1)
    .map(row => row.trim().split(/\s+/))
    .map(columns => [columns[inode], columns[what] ? `${table} ${columns[what]}` : table]);
}
