// Preloaded into a hub under test (--import). On SIGUSR2 it collects garbage, and writes memory and descriptors to the
// file PROBE_FILE. If PROBE_SNAPSHOTS names a folder, it writes a heap snapshot there as well.
import { readFileSync, readdirSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapSpaceStatistics, setFlagsFromString, writeHeapSnapshot } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const { PROBE_FILE: file, PROBE_SNAPSHOTS: snapshots } = process.env;
let reports = 0;

process.on('SIGUSR2', () => void report());

async function report() {
  // Memory that finalizers free is collected in the next round.
  for (let round = 0; round < 4; round++) {
    collect();
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const heap = heapUsed - codeBytes() + arrayBuffers;
  const held = { heap, rss, descriptors: descriptors() };
  if (snapshots) writeHeapSnapshot(join(snapshots, `${++reports}.heapsnapshot`));
  writeFileSync(`${file}.new`, JSON.stringify(held));
  renameSync(`${file}.new`, file);
}

/** Returns the size of V8's code in bytes. It grows with the calls, as more functions are optimized. */
function codeBytes() {
  return getHeapSpaceStatistics()
    .filter(({ space_name: name }) => /^(code|trusted)_/.test(name))
    .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
}

/** Returns the target of each open descriptor: a path, a kind, or for sockets their path or bound ports. */
function descriptors() {
  const sockets = new Map([...rows('unix', 6, 7), ...rows('tcp', 9, 2), ...rows('tcp6', 9, 2)]);
  return readdirSync('/proc/self/fd')
    .flatMap(number => {
      try {
        const link = readlinkSync(`/proc/self/fd/${number}`);
        const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
        return inode ? `socket ${sockets.get(inode) ?? ''}`.trim() : link.replace(/:\[\d+\]$/, '');
      } catch {
        // The descriptor of the folder that is being read is closed already.
        return [];
      }
    })
    .sort();
}

/** Returns pairs from a table of /proc/net: the inode of each row, and the value of its column `what`. */
function rows(table, inode, what) {
  return readFileSync(`/proc/net/${table}`, 'utf8')
    .split('\n')
    .slice(1)
    .map(row => row.trim().split(/\s+/))
    .map(columns => [columns[inode], columns[what] ? `${table} ${columns[what]}` : table]);
}
