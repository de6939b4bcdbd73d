export {
  type Audit,
  type AuditNeeds,
  type AuditOptions,
  type AuditStatus,
  createAudit,
} from './audit.ts';
export type { AuditedChange, AuditedRefusal } from './body.ts';
export { type AuditLine, parseLine } from './chain.ts';
export { type AuditFilter, createMatcher, readPage } from './read.ts';
export { type AuditReport, verifyAudit } from './verify.ts';
