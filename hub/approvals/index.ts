export {
  type ApprovalNeeds,
  type Approvals,
  type AskedCall,
  createApprovals,
} from './approvals.ts';
export { canonicalArguments, hashOf } from './canonical-arguments.ts';
export { type Approval, type ConfirmedCall, type StandingApproval, callKey } from './records.ts';
