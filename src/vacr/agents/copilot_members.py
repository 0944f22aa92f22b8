"""Types of events in Copilot's log, and the members of their data.

The names are from versions up to 1.0.102, of the events that go to disk. The reader keeps other
names, too, and counts them as drift.

>>> from vacr.agents.copilot_members import EVENT_DATA_MEMBERS
>>> sorted(EVENT_DATA_MEMBERS["session.mode_changed"])
['newMode', 'previousMode']
"""

from __future__ import annotations

from vacr.agents.lift import parse_names

_DATA_MEMBERS = {
    "abort": "reason",
    "assistant.fusion_phase_completed": """
        content conversationScope durationMs endedWithBackgroundWork fusionId model phaseId
        phaseKind projectionMessage projectionMode reasoningEffort role stagedTerminal
        status usage verdict
    """,
    "assistant.fusion_phase_failed": """
        conversationScope degradedToPhaseId durationMs errorMessage fusionId model phaseId
        phaseKind reason reasoningEffort role status usage
    """,
    "assistant.message": """
        apiCallId chunkCount chunkIndex citations clientRequestId content encryptedContent
        fusion interactionId messageId model originatingMessageId outputTokens
        parentToolCallId phase providerId reasoningBlocks reasoningOpaque reasoningText
        reasoningWireField requestId rte serverTools serviceRequestId toolRequests turnId
    """,
    "assistant.reasoning": "content reasoningId rte",
    "assistant.turn_end": "interactionId model parentToolCallId turnId",
    "assistant.turn_start": "interactionId model parentToolCallId turnId",
    "external_tool.requested": """
        arguments providerId requestId sessionId toolCallId toolName traceparent tracestate
        workingDirectory
    """,
    "hook.end": "error hookInvocationId hookType output parentToolCallId success",
    "hook.start": "hookInvocationId hookType input parentToolCallId",
    "human_response.recorded": "actor requestId response toolCallId",
    "mcp.oauth_recovery_completed": "outcome requestId serverName",
    "permission.assentDetected": "requestId turnIndex",
    "permission.carriedForward": "decisionSource recordId requestId toolCallId",
    "permission.completed": "blocker decisionSource recoveryEpisodeId requestId result toolCallId",
    "permission.contextualAuthorization": "polarity recordId requestId spanEnd spanStart turnIndex",
    "permission.messageAuthorization": """
        actionClass polarity recordId spanEnd spanStart targetMembers task turnIndex world
    """,
    "permission.messageAuthorizationDegraded": "turnIndex",
    "permission.messageAuthorizationRead": "activatesExtraction turnIndex",
    "permission.requested": """
        agentMode fusion ownerAgentId ownerSessionId permissionMode permissionRequest
        promptRequest recoveryEpisodeId requestId resolvedByHook riskAssessment
    """,
    "session.auto_mode_resolved": """
        availableModels candidateModels categoryScores chosenModel chosenShortfall
        confidence endToEndLatencyMs fallback fallbackReason hasImage predictedLabel
        reasoningBucket routerLatencyMs routingMethod selectionReason stickyOverride
    """,
    "session.autopilot_objective_changed": "id operation status",
    "session.binary_asset": "assetId byteLength data description metadata mimeType type",
    "session.canvas.recorded": "canvasId extensionId input instanceId title",
    "session.canvas.removed": "canvasId extensionId instanceId",
    "session.compaction_complete": """
        activeWorkflowSummary behaviorModelId checkpointNumber checkpointPath
        compactionAttemptId compactionTokensUsed conversationTokens customInstructions error
        failureReason initialModel messagesRemoved model outcome outcomeReason
        postCompactionTokens preCompactionMessagesLength preCompactionTokens requestId
        responsesReasoning serviceRequestId statusCode success summaryContent
        switchTargetModel systemTokens targetPromptTokenLimit tokenAccountingBasis
        tokenLimit tokensRemoved toolDefinitionsTokens trigger
    """,
    "session.compaction_start": """
        compactionAttemptId conversationTokens currentTokens model switchTargetModel
        systemTokens targetPromptTokenLimit tokenLimit toolDefinitionsTokens trigger
    """,
    "session.completion_receipt": """
        attempt eventRange failedToolCount finalTool schemaVersion sourceEventId stopReason
        successfulToolCount
    """,
    "session.context_changed": """
        baseCommit branch cwd gitRoot headCommit hostType pendingGitContext repository
        repositoryHost
    """,
    "session.context_cleared": "initialMessage messagesCleared",
    "session.error": """
        eligibleForAutoSwitch errorCode errorType message originatingMessageId
        providerCallId providerErrorParam providerErrorType remediation serviceRequestId
        stack statusCode url
    """,
    "session.fusion_change_checkpoint": "codeChanges",
    "session.fusion_commit_started": "commitId fusionId kind sourceModel sourcePhaseId toolCallId",
    "session.fusion_completed": """
        awaitingBackgroundWork cachedTokens cacheWriteTokens commitId degradedReason
        durationMs finalSourceModel finalSourcePhaseId followUpModel fusionId inputTokens
        outcome outputTokens pattern phaseCount requestCount syntheticModel totalNanoAiu
        turnId
    """,
    "session.fusion_handoff": "fusionId message sourcePhaseId targetModel targetPhaseId",
    "session.fusion_resolved": """
        contractVersion critics fallbackModel followUp followUpModel fusionId hint
        judgeModel modelUniverseVersion pattern phasePlan planVersion policy policyVersion
        primaryModel repairModel routeSource routingLatencyMs ruleId ruleIndex ruleName
        scores secondaryModel selectedRuleId syntheticModel turnId
    """,
    "session.fusion_route_failed": """
        attemptId errorMessage fallbackModel policy reason routingLatencyMs syntheticModel
    """,
    "session.handoff": "context handoffTime host remoteSessionId repository sourceType summary",
    "session.info": "infoType message tip url",
    "session.mode_changed": "newMode previousMode",
    "session.mode_notice_delivered": "content mode",
    "session.model_change": """
        autoTier autoTierManaged cause contextTier contextTierManaged newModel
        previousAutoTier previousModel previousProviderId previousReasoningEffort
        previousReasoningSummary previousVerbosity providerId reasoningEffort
        reasoningEffortManaged reasoningEffortModel reasoningSummary source verbosity
    """,
    "session.model_deselected": "previousModel reason",
    "session.permission_recovery": """
        attempts episodeId maxAttempts onBlocked ownerAgentId ownerSessionId reason status
    """,
    "session.permissions_changed": """
        allowAllPermissions assistedApprovalModel mode previousAllowAllPermissions
        previousMode
    """,
    "session.plan_changed": "operation",
    "session.remote_steerable_changed": "remoteSteerable",
    "session.request_body_compression_disabled": "encoding",
    "session.resume": """
        alreadyInUse autoTier autoTierManaged context contextTier contextTierManaged
        continuePendingWork eventCount eventsFileSizeBytes providerId reasoningEffort
        reasoningEffortManaged reasoningEffortModel reasoningSummary remoteSteerable
        resumeTime selectedModel sessionLimits sessionWasActive verbosity
    """,
    "session.schedule_cancelled": "id",
    "session.schedule_created": """
        at cron displayPrompt id intervalMs origin prompt recurring selfPaced tz
    """,
    "session.schedule_rearmed": "id nextRunAt",
    "session.session_limits_changed": "sessionLimits",
    "session.shutdown": """
        accountingSnapshot agentMetrics codeChanges conversationTokens currentModel
        currentTokens errorReason eventsFileSizeBytes modelMetrics providerModelMetrics
        sessionStartTime shutdownType systemTokens tokenDetails toolDefinitionsTokens
        toolUsageRequestIds totalApiDurationMs totalNanoAiu totalPremiumRequests
        usageAccountingWatermarks
    """,
    "session.start": """
        alreadyInUse autoTier autoTierManaged context contextTier contextTierManaged
        copilotVersion detachedFromSpawningParentSessionId githubMcpToolConfig producer
        providerId reasoningEffort reasoningEffortManaged reasoningEffortModel
        reasoningSummary remoteSteerable selectedModel sessionId sessionLimits startTime
        verbosity version vscodeVersion
    """,
    "session.task_complete": "blocker objectiveId outcome reason success summary",
    "session.truncation": """
        droppedTokens messagesRemovedDuringTruncation performedBy
        postTruncationMessagesLength postTruncationTokensInMessages
        preTruncationMessagesLength preTruncationTokensInMessages reason tokenLimit
        tokensRemovedDuringTruncation
    """,
    "session.usage_checkpoint": """
        accountingSnapshot modelCacheState promptCacheBreakState providerModelMetrics
        toolUsageRequestIds totalNanoAiu totalPremiumRequests usageAccountingWatermarks
    """,
    "session.usage_record": "usage",
    "session.warning": "message originatingMessageId remediation url warningType",
    "session.workspace_file_changed": "operation path",
    "skill.context_delivered": "content interactionId source",
    "skill.context_delivered_ref": "contentId interactionId prefix source suffix",
    "skill.invoked": """
        allowedTools content description disableModelInvocation invokedAtTurn model name
        path pluginName pluginVersion source trigger
    """,
    "skill.invoked_ref": """
        allowedTools contentId contentLength description disableModelInvocation
        invokedAtTurn model name path pluginName pluginVersion source trigger
    """,
    "subagent.completed": """
        agentDisplayName agentName cancelled configuredModelMatchesActual
        configuredModelPreference durationMs explicitModelMatchesPreference
        explicitModelOverride firstDispatchedModel model modelOverrideReason
        modelSelectionSource toolCallId totalTokens totalToolCalls
    """,
    "subagent.configured": "contextTier model multiTurn reasoningEffort",
    "subagent.deselected": "",
    "subagent.failed": """
        agentDisplayName agentName configuredModelMatchesActual configuredModelPreference
        durationMs error explicitModelMatchesPreference explicitModelOverride
        firstDispatchedModel model modelOverrideReason modelSelectionSource toolCallId
        totalTokens totalToolCalls
    """,
    "subagent.selected": "agentDisplayName agentName tools",
    "subagent.started": """
        agentDescription agentDisplayName agentName agentType executionMode factoryRunId
        model modelSelectionSource parentId resumable taskModelSource toolCallId
        workflowRunId
    """,
    "system.message": "content contentBlocks interactionId metadata name role",
    "system.notification": "content kind responsesReasoning",
    "tool.execution_complete": """
        error fileEdits fusion interactionId isUserRequested mcpMeta model parentToolCallId
        result rte sandboxed shellExecution success toolCallId toolDescription toolTelemetry
        toolUsage turnId
    """,
    "tool.execution_start": """
        arguments displayVerbatim fusion mcpConfigServerName mcpConfigSource mcpServerName
        mcpToolName mcpTransport model parentToolCallId rte shellToolInfo toolCallId
        toolDescription toolName toolTitle turnId
    """,
    "tool.user_requested": "arguments toolCallId toolName",
    "tool_search.activated": "strategy toolNames",
    "user.message": """
        agentMode attachments content delivery interactionId isAutopilotContinuation
        messageId nativeDocumentPathFallbackPaths parentAgentTaskId responsesReasoning
        source supportedNativeDocumentMimeTypes transformedContent turnId
    """,
}
EVENT_DATA_MEMBERS = {kind: parse_names(members) for kind, members in _DATA_MEMBERS.items()}
"""Type of an event that Copilot writes to the log → the members of its data."""
