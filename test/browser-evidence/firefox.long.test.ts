import { testScenarios } from './scenario-tests.js'

// Where browsers differ: what they send, keep and abort. `node tools/browsers` runs the others in Firefox too.
testScenarios('firefox', ['tabs', 'lost-pages', 'aborted-navigation', 'other-origins'])
