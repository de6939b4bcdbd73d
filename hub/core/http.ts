/**
 * `node:http` and `node:https`. An ES `import` would evaluate all their exports, including Node's fetch, which costs
 * 14 MB of resident memory that the hub does not need.
 */
export const http = process.getBuiltinModule('node:http');
export const https = process.getBuiltinModule('node:https');
