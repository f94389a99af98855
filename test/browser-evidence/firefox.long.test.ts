import { testScenarios } from './scenario-tests.js'

// Only the scenarios in which browsers behave differently: what they send, store and abort. `node tools/browsers` runs the
// others in Firefox too.
testScenarios('firefox', ['lost-responses', 'aborted-navigation', 'other-origins'])
