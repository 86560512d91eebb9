# PowerShell completion for onnx-tag
Register-ArgumentCompleter -Native -CommandName onnx-tag -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  onnx-tag __complete ($words.Count + 1) @words $wordToComplete 2>$null |
    Where-Object { -not $_.StartsWith(':') } | ForEach-Object {
      $word, $help = $_ -split "`t", 2
      if (-not $help) { $help = $word }
      [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $help)
    }
}
