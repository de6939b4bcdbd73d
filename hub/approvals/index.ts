export {
  type ApprovalNeeds,
  type ApprovalOptions,
  type Approvals,
  type AskedCall,
  createApprovals,
} from './approvals.ts';
export { canonicalArguments, hashOf } from './canonical-arguments.ts';
export type { Approval, ConfirmedCall, StandingApproval } from './records.ts';
